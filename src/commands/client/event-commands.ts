/** `proofwright events tail`. */
import { StartError } from "../../platform/start-error.js";
import type { ServerEvent } from "../../sdk/events.js";
import type { CommandInput } from "./command-spec.js";
import { wholeNumber } from "./command-spec.js";
import { printResult } from "./print-result.js";
import { signedIn } from "./signed-in.js";

const EVENTS_MAX = 1_000_000_000;

/** Prints a line per event until it is stopped, by --limit, a signal, or a pipe that nobody reads any more. */
export async function runEventsTail(input: CommandInput): Promise<number> {
  const [from, limit] = await Promise.all([number(input, "from", 0), number(input, "limit", 1)]);
  const subject = input.arguments(0);
  const client = await signedIn(input.flags);
  const stop = new AbortController();
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    stop.abort(error);
  });
  process.once("SIGINT", () => {
    stop.abort(new StartError("stopped"));
  });
  const stream = client.events.stream({
    ...(subject.length === 0 ? {} : { subject }),
    ...(from === undefined ? {} : { lastEventId: from }),
    signal: stop.signal,
    onGap: (upTo) => {
      process.stderr.write(`Events up to ${String(upTo)} are no longer kept; some may be missing.\n`);
    },
    onOpen: () => {
      process.stderr.write("Listening.\n");
    },
  });
  let count = 0;
  try {
    for await (const event of stream) {
      printResult(input.flags, event, () => [lineOf(event)]);
      count += 1;
      if (count === limit) return 0;
    }
    return 0;
  } catch (error) {
    // The reader of the pipe, or the person at the terminal, has seen enough.
    if (stop.signal.aborted) return 0;
    throw error;
  }
}

function lineOf({ id, created_at: at, subject, payload }: ServerEvent): string {
  return `${String(id)}  ${at}  ${subject}  ${JSON.stringify(payload)}`;
}

async function number(input: CommandInput, name: "from" | "limit", min: number): Promise<number | undefined> {
  const text = input.text(name);
  return text === undefined ? undefined : await wholeNumber(text, `--${name}`, { min, max: EVENTS_MAX });
}

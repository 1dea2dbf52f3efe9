/**
 * The stream of events: server-sent events (HTML Standard, section 9.2) read with `fetch`, so that the token goes into
 * a header, in browsers too. After an interruption it goes on behind the last event that came.
 */
import type { Calls } from "./calls.js";
import { backoffMs, delay } from "./delays.js";
import { ApiError, ConnectionError, StreamEndedError } from "./errors.js";

/** What happened. */
export interface ServerEvent {
  readonly id: number;
  readonly subject: string;
  readonly created_at: string;
  readonly payload: unknown;
  /** The payload has more than 64 KiB and is left out. */
  readonly truncated?: boolean;
}

export interface StreamOptions {
  /** Filters such as `network.*.status`; everything that the token may see unless given. */
  readonly subject?: readonly string[];
  /** Begins behind this event; 0 for all that are kept. From now on unless given. */
  readonly lastEventId?: number;
  readonly signal?: AbortSignal;
  /** Events up to this one are no longer kept, and some may have been missed. */
  readonly onGap?: (upTo: number) => void;
  /** The stream is open, at first and after each interruption, and begins behind this event. */
  readonly onOpen?: (lastEventId: number) => void;
}

/** A message of the stream: an event, or one about the stream itself, which has a type. */
interface Message {
  readonly type: string | undefined;
  readonly id: number | undefined;
  readonly data: string;
}

/** A token of its own kind is replaced, and the server's end of these lasts for seconds. */
const PASSING_REASONS: readonly string[] = ["slow_consumer", "shutting_down", "failed"];
const LINE_END = /\r\n|\n|\r/;

/**
 * Yields events one by one, at least once each, until the caller stops or its signal aborts. Connects again by itself
 * after an interruption.
 * @throws StreamEndedError when the server ends the stream for good: the token has expired or is not valid any more
 * @throws ApiError when the stream is refused, such as 403
 */
export async function* streamEvents(calls: Calls, options: StreamOptions = {}): AsyncGenerator<ServerEvent, void> {
  const { signal } = options;
  let last = options.lastEventId;
  for (let attempt = 0; ; attempt += 1) {
    try {
      for await (const { type, id, data } of messages(await open(calls, options, last))) {
        last = id ?? last;
        attempt = 0;
        if (type === undefined) yield JSON.parse(data) as ServerEvent;
        else if (type === "ready") options.onOpen?.(last ?? 0);
        else if (type === "gap") options.onGap?.(last ?? 0);
        else if (type === "end") requirePassing(data, last, calls);
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!isPassing(error)) throw error;
    }
    await delay(backoffMs(attempt), signal);
  }
}

async function open(calls: Calls, options: StreamOptions, last: number | undefined): Promise<Response> {
  const { subject, signal } = options;
  // In the query, because pages of other origins may not send Last-Event-ID.
  const query = {
    ...(subject === undefined ? {} : { subject: [...subject] }),
    ...(last === undefined ? {} : { last_event_id: last }),
  };
  const headers = { Accept: "text/event-stream" };
  return await calls.open("GET /api/v1/events", { query }, { headers, ...(signal === undefined ? {} : { signal }) });
}

/** @throws StreamEndedError for a reason that stays */
function requirePassing(data: string, last: number | undefined, calls: Calls): void {
  const { reason = "failed" } = JSON.parse(data) as { readonly reason?: string };
  const isReplaced = reason === "token_expired" && calls.transport.hasFreshTokens;
  if (!isReplaced && !PASSING_REASONS.includes(reason)) throw new StreamEndedError(reason, last);
}

/** Nothing else is: an exception of the caller's own functions must reach the caller. */
function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 429 || error.status >= 500;
  return error instanceof ConnectionError;
}

/** Returns the next piece of the stream, undefined at its end. Throws ConnectionError where it breaks off. */
async function nextPiece(reader: ReadableStreamDefaultReader<string>): Promise<string | undefined> {
  try {
    const { value, done } = await reader.read();
    return done ? undefined : value;
  } catch (error) {
    throw new ConnectionError("the stream of events broke off", { cause: error });
  }
}

async function* messages(response: Response): AsyncGenerator<Message, void> {
  const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  let fields: [name: string, value: string][] = [];
  try {
    for (;;) {
      const piece = await nextPiece(reader);
      if (piece === undefined) return;
      const lines = `${pending}${piece}`.split(LINE_END);
      // The last one has not ended; a line that ends in CR may go on with LF, which the server does not send.
      pending = lines.pop() ?? "";
      for (const line of lines) {
        if (line !== "") fields.push(fieldOf(line));
        else {
          const message = messageOf(fields);
          fields = [];
          if (message !== undefined) yield message;
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function fieldOf(line: string): [name: string, value: string] {
  const at = line.indexOf(":");
  return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
}

function messageOf(fields: readonly (readonly [string, string])[]): Message | undefined {
  const valueOf = (name: string): string | undefined => fields.findLast(([own]) => own === name)?.[1];
  const data = fields.filter(([name]) => name === "data").map(([, value]) => value);
  const id = valueOf("id");
  const number = id !== undefined && /^\d+$/.test(id) ? Number(id) : undefined;
  return data.length === 0 && number === undefined
    ? undefined
    : { type: valueOf("event") ?? (data.length === 0 ? "heartbeat" : undefined), id: number, data: data.join("\n") };
}

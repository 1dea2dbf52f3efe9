/** The client's commands as processes: the built program with a configuration of its own. */
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";

export interface Outcome {
  readonly status: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Environment of a command: nothing of the test's own but the path of programs. */
export interface ClientEnvironment {
  readonly XDG_CONFIG_HOME: string;
  readonly [name: string]: string;
}

/** A command that runs: what it has printed so far, and how it ends. */
export interface RunningClient {
  readonly child: ChildProcess;
  /** Resolves when standard error or output has a match; rejects when the command ends without. */
  readonly printed: (pattern: RegExp) => Promise<RegExpExecArray>;
  readonly ended: Promise<Outcome>;
}

/** Starts the built command; its standard input ends after `input`. */
export function startClient(args: readonly string[], env: ClientEnvironment, input = ""): RunningClient {
  const child = spawn(process.execPath, [join(PACKAGE_ROOT, "dist/src/cli.js"), ...args], {
    env: { PATH: process.env.PATH, ...env },
  });
  let [output, errors] = ["", ""];
  const waiting = new Set<() => void>();
  const tell = (): void => {
    for (const look of waiting) look();
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    tell();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
    tell();
  });
  // A command that needs no input may end before it is written.
  child.stdin.on("error", () => undefined).end(input);
  const ended = new Promise<Outcome>((resolve) => {
    child.on("close", (status) => {
      resolve({ status, output, errors });
    });
  });
  const printed = async (pattern: RegExp): Promise<RegExpExecArray> =>
    await new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(errors) ?? pattern.exec(output);
        if (match === null) return;
        waiting.delete(look);
        resolve(match);
      };
      waiting.add(look);
      look();
      void ended.then((outcome) => {
        reject(new Error(`ended without ${String(pattern)}: ${JSON.stringify(outcome)}`));
      });
    });
  return { child, printed, ended };
}

/** Runs the built command to its end. */
export async function runClient(args: readonly string[], env: ClientEnvironment, input = ""): Promise<Outcome> {
  return await startClient(args, env, input).ended;
}

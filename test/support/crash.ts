/**
 * Kill -9 at a random moment, and what was promised before it. A child writes one line per acknowledged operation to
 * its standard output; what is in the pipe survives the child. Used for the store itself and for the server over HTTP.
 */
import { spawn } from "node:child_process";
import type { SeededRandom } from "./seeded.js";

export interface CrashChild {
  /** Program and arguments. */
  readonly command: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
  /** The line that says that the child is at work; not part of the acknowledgements. */
  readonly readyLine: string;
  /** How long it works after that line before it is killed. */
  readonly killAfterMs: number;
}

export interface CrashResult {
  /** Whole lines after the ready line. A line that the kill cut off is no acknowledgement. */
  readonly acknowledged: string[];
  /** From spawn to the ready line: process start, opening and recovery. */
  readonly startMs: number;
}

/** Runs a child until the kill. Rejects when it ends by itself or says anything on standard error. */
export function runUntilKilled(child: CrashChild): Promise<CrashResult> {
  return new Promise((resolve, reject) => {
    const [program, ...args] = child.command;
    const started = performance.now();
    const running = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...child.env } });
    let output = "";
    let complaints = "";
    let startMs: number | undefined;
    running.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (startMs === undefined && output.includes(`${child.readyLine}\n`)) {
        startMs = performance.now() - started;
        setTimeout(() => {
          running.kill("SIGKILL");
        }, child.killAfterMs);
      }
    });
    running.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaints += text;
    });
    running.on("error", reject);
    running.on("close", (status, signal) => {
      if (signal !== "SIGKILL" || startMs === undefined || complaints !== "") {
        reject(
          new Error(
            `the child ended by itself (status ${status}, signal ${signal}): ${complaints}${output.slice(0, 500)}`,
          ),
        );
        return;
      }
      const lines = output.slice(0, output.lastIndexOf("\n")).split("\n");
      resolve({ acknowledged: lines.slice(lines.indexOf(child.readyLine) + 1), startMs });
    });
  });
}

export interface CrashFigures {
  rounds: number;
  acknowledged: number;
  lost: number;
  half: number;
  /** The slowest reopening after a kill. */
  reopen_ms_max: number;
}

export interface CrashLoop {
  readonly rounds: number;
  readonly random: SeededRandom;
  readonly killAfterMs: readonly [least: number, most: number];
  /** The child of a round, without the moment of its end. */
  readonly child: (round: number) => Omit<CrashChild, "killAfterMs">;
  /** Opens what the child left and counts. */
  readonly examine: (
    round: number,
    acknowledged: readonly string[],
  ) => Promise<{ lost: number; half: number; reopenMs: number }>;
}

/** Runs the rounds one after the other and adds up. */
export async function crashLoop(loop: CrashLoop): Promise<CrashFigures> {
  const figures: CrashFigures = { rounds: 0, acknowledged: 0, lost: 0, half: 0, reopen_ms_max: 0 };
  const [least, most] = loop.killAfterMs;
  for (let round = 0; round < loop.rounds; round += 1) {
    const { acknowledged } = await runUntilKilled({
      ...loop.child(round),
      killAfterMs: least + loop.random.below(most - least),
    });
    const { lost, half, reopenMs } = await loop.examine(round, acknowledged);
    figures.rounds += 1;
    figures.acknowledged += acknowledged.length;
    figures.lost += lost;
    figures.half += half;
    figures.reopen_ms_max = Math.max(figures.reopen_ms_max, Math.round(reopenMs * 10) / 10);
  }
  return figures;
}

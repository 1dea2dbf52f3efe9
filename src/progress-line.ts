/** Steps with their durations: a moving bar on a terminal, plain lines elsewhere. */

/** The part of a stream that a progress line needs. */
interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Takes the share that is done (0 to 1), a short text, and the milliseconds that are probably left, where known. */
export type ReportStep = (share: number, text: string, remainingMs?: number | null) => void;

const BAR_WIDTH = 24;
const TITLE_WIDTH = 36;

export class ProgressLine {
  readonly #output: ProgressOutput;

  constructor(output: ProgressOutput) {
    this.#output = output;
  }

  /** Runs one step and prints its title and duration. */
  async step<T>(title: string, work: (report: ReportStep) => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    let lastText = "";
    const report: ReportStep = (share, text, remainingMs) => {
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
      if (this.#output.isTTY === true)
        this.#output.write(
          `\r\u001b[K  ${title.padEnd(TITLE_WIDTH)} ${bar(share)} ${seconds} s  ${text}${timeLeft(remainingMs)}`,
        );
      else if (text !== lastText) this.#output.write(`    ${title}: ${text} (${(share * 100).toFixed(0)} %)\n`);
      lastText = text;
    };
    if (this.#output.isTTY === true) this.#output.write(`  ${title.padEnd(TITLE_WIDTH)} …`);
    try {
      const value = await work(report);
      this.#finish(
        `${title.padEnd(TITLE_WIDTH)} ${duration(performance.now() - startedMs)}${typeof value === "boolean" ? `   ${String(value)}` : ""}`,
      );
      return value;
    } catch (error) {
      this.#finish(`${title.padEnd(TITLE_WIDTH)} failed`);
      throw error;
    }
  }

  /** Prints a heading after an empty line. */
  heading(text: string): void {
    this.#output.write(`\n${text}\n`);
  }

  /** Prints an indented line. */
  note(text: string): void {
    this.#output.write(`  ${text}\n`);
  }

  #finish(text: string): void {
    this.#output.write(`${this.#output.isTTY === true ? "\r\u001b[K" : ""}  ${text}\n`);
  }
}

function bar(share: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * BAR_WIDTH);
  return `[${"#".repeat(filled)}${"-".repeat(BAR_WIDTH - filled)}]`;
}

function timeLeft(ms: number | null | undefined): string {
  const seconds = Math.round((ms ?? 0) / 1000);
  return seconds < 1 ? "" : `, about ${String(seconds)} s left`;
}

function duration(ms: number): string {
  return ms < 1000 ? `${ms.toFixed(0).padStart(6)} ms` : `${(ms / 1000).toFixed(1).padStart(6)} s`;
}

/**
 * How far the compiler is, from what it writes while it runs: nothing else leaves it before its end. The shares are
 * those of the time that circuits of 30,000 to 90,000 constraints take.
 */

/** What the compiler does next once it has printed this. */
const INSTANTIATED = { text: "template instances", share: 0.45 };
/** By the ending of the file that is begun. */
const BEGUN: Readonly<Record<string, number>> = { r1cs: 0.9, sym: 0.96, wasm: 0.99 };

/** Follows one compilation. */
export class CompileProgress {
  readonly #report: (share: number) => void;
  #share = 0;

  constructor(report: (share: number) => void) {
    this.#report = report;
  }

  /** Takes what the compiler prints. */
  printed(text: Uint8Array): void {
    if (this.#share < INSTANTIATED.share && Buffer.from(text).includes(INSTANTIATED.text))
      this.#reach(INSTANTIATED.share);
  }

  /** Takes the path of a file that it begins to write. */
  begun(path: string): void {
    this.#reach(BEGUN[path.split(".").at(-1) ?? ""] ?? 0);
  }

  #reach(share: number): void {
    if (share <= this.#share) return;
    this.#share = share;
    this.#report(share);
  }
}

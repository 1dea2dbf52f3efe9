/** What a bench subject is: a name and a run that reports rows. Each row compares one way of doing one thing. */

export interface BenchRow {
  readonly subject: string;
  /** What was measured; never renamed, so that runs can be compared. */
  readonly id: string;
  readonly circuit?: string;
  /** Who did it: `proofwright`, or the peer measured beside it in the same run. */
  readonly peer: string;
  readonly unit: "ns" | "us" | "ms" | "s" | "ops/s" | "MB" | "count";
  readonly median: number;
  readonly p95?: number;
  readonly samples: number;
  readonly note?: string;
}

export type Report = (row: BenchRow) => void;

export interface BenchSubject {
  readonly name: string;
  readonly title: string;
  run(report: Report, options: { readonly quick: boolean }): Promise<void>;
}

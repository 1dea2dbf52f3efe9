/**
 * The table at the end of a run. Its ratios all have one direction: how many times better ours is than the peer that was
 * measured beside it, so that 2 is twice as good and 0.5 half as good, whatever the unit. A row of ours that nothing was
 * measured beside says so.
 */
import type { BenchRow } from "./subject.js";

const COLUMNS = ["subject", "id", "circuit", "who", "median", "p95", "unit", "n", "ours is better by", "note"] as const;

/** Rates and counts of lanes grow when they get better; all other units are times and sizes, which shrink. */
const IS_RATE: Readonly<Record<BenchRow["unit"], boolean>> = {
  "ops/s": true,
  ns: false,
  us: false,
  ms: false,
  s: false,
  MB: false,
  count: true,
};

/**
 * Ours beside one peer's row: above 1, ours is better. Undefined for a row of ours, and where nothing of ours was
 * measured under the same id, circuit and unit.
 */
export function ratioOf(row: BenchRow, rows: readonly BenchRow[]): number | undefined {
  if (isOurs(row)) return undefined;
  const ours = rows.find((other) => isOurs(other) && nameOf(other) === nameOf(row));
  if (ours === undefined) return undefined;
  return IS_RATE[row.unit] ? ours.median / row.median : row.median / ours.median;
}

/** All rows as a Markdown table, padded for a terminal. */
export function tableOf(rows: readonly BenchRow[]): string {
  const cells = rows.map((row) => [
    row.subject,
    row.id,
    row.circuit ?? "",
    row.peer,
    figure(row.median),
    row.p95 === undefined ? "" : figure(row.p95),
    row.unit,
    String(row.samples),
    isAlone(row, rows) ? "no peer" : ratioText(ratioOf(row, rows)),
    row.note ?? "",
  ]);
  const widths = COLUMNS.map((title, column) =>
    Math.max(title.length, ...cells.map((line) => (line[column] ?? "").length)),
  );
  const format = (line: readonly string[]): string =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [format(COLUMNS), format(widths.map((width) => "-".repeat(width))), ...cells.map(format)].join("\n");
}

/** True for a row of ours that nothing was measured beside. */
function isAlone(row: BenchRow, rows: readonly BenchRow[]): boolean {
  return isOurs(row) && !rows.some((other) => !isOurs(other) && nameOf(other) === nameOf(row));
}

function isOurs(row: BenchRow): boolean {
  return row.peer.startsWith("proofwright");
}

function nameOf({ subject, id, circuit, unit }: BenchRow): string {
  return JSON.stringify([subject, id, circuit ?? "", unit]);
}

/** Cut, not rounded: no figure reaches a bar by rounding. */
function ratioText(ratio: number | undefined): string {
  if (ratio === undefined) return "";
  const digits = ratio >= 10 ? 1 : 100;
  return String(Math.floor(ratio * digits) / digits);
}

function figure(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 1 ? value.toFixed(2) : value.toPrecision(3);
}

/** Records of the API as lines for people. */

/** Characters of a value in a column, as many as a hash has; longer ones are cut, and --json has them whole. */
const CELL_MAX = 66;
/** Characters of a value on a line of its own: a public key is whole, the bytecode of a contract is not. */
const LINE_MAX = 600;

/** Returns a line for each member of an answer; none where there is nothing to say. */
export function recordLines(value: unknown): readonly string[] {
  if (value === undefined || value === null) return ["Done."];
  if (typeof value !== "object") return [textOf(value)];
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  const width = Math.max(0, ...members.map(([name]) => name.length));
  return members.map(([name, member]) => `${name.padEnd(width)}  ${shortened(textOf(member))}`);
}

function shortened(text: string): string {
  if (text.length <= LINE_MAX) return text;
  return `${text.slice(0, LINE_MAX - 1)}… (${String(text.length)} characters; --json has all)`;
}

/**
 * Returns what shows records as a table, without a head: it is made to be read by `grep` and `awk` too.
 * @param columns names of the members, of which the last is not padded
 * @param nothing the sentence where there is no record
 */
export function tableOf<T extends object>(
  columns: readonly (keyof T & string)[],
  nothing: string,
): (records: readonly T[]) => readonly string[] {
  return (records) => {
    if (records.length === 0) return [nothing];
    const cells = records.map((record) => columns.map((name) => cellOf(record[name])));
    const widths = columns.map((_name, column) => Math.max(...cells.map((row) => (row[column] ?? "").length)));
    return cells.map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  };
}

function cellOf(value: unknown): string {
  const text = value === null || value === undefined || value === "" ? "-" : textOf(value);
  return text.length > CELL_MAX ? `${text.slice(0, CELL_MAX - 1)}…` : text;
}

/** A text of several lines stays one, so that nobody's name looks like another record. */
function textOf(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.replaceAll(/[\r\n\t]+/g, " ");
}

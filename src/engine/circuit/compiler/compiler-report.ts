/**
 * Reads what the compiler prints about a source: findings in the form of the Rust crate codespan-reporting, each with a
 * header, excerpts of the source with labels under them, and notes. Keeps all words and drops excerpts and drawing.
 */

/** A place in a file, as the compiler names it. */
export interface ReportPlace {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** One finding of the compiler. */
export interface ReportedFinding {
  readonly severity: "error" | "warning";
  /** P = parsing, T and TAC = types and constraints, CA = constraint analysis. */
  readonly code: string;
  /** The headline with the label of the place, in one line. */
  readonly message: string;
  readonly place?: ReportPlace;
  /** Labels of other places and the notes below the excerpts, one line each. */
  readonly notes: readonly string[];
}

interface Label {
  text: string;
  readonly file: string;
  readonly line: number;
  readonly isPrimary: boolean;
}

/** What is read of one finding so far. */
interface Draft {
  readonly severity: ReportedFinding["severity"];
  readonly code: string;
  readonly message: string[];
  place?: ReportPlace;
  readonly labels: Label[];
  readonly notes: string[];
  /** File and line of the excerpt that is being read. */
  file: string;
  line: number;
}

const HEADER = /^(error|warning|bug|note|help)(?:\[(\w{1,12})\])?: ?(.*)$/;
/** Lines after the last finding. */
const TRAILER = /^(previous errors were found|thread '|note: run with `RUST_BACKTRACE)/;
const LOCATION = /^\s*┌─ "?(.+?)"?:(\d{1,9}):(\d{1,9})\s*$/;
const SOURCE_LINE = /^\s*(\d{1,9}) │/;
const MARK_LINE = /^\s*│(.*)$/;
const BREAK_LINE = /^\s*·/;
const NOTE = /^\s*= (.*)$/;
/** Carets, dashes and frames before the words of a label. */
const DRAWING = /^[\s│╭╮╰╯├─^\-'~]+/;
/** Labels that only point at the place, which the finding names anyway. */
const POINTING_LABELS: ReadonlySet<string> = new Set(["found here", "here"]);
const LAST_WORDS_CHARS = 600;
/** An absolute path, or the end of one that is cut, outside the folders of the source and the library. */
const HOST_PATH = /(?<![\w.@\])/-])(?:file:\/\/)?\/(?!(?:src|lib)\/)[^\s"'():]+/g;
const PANIC = /panicked at '?(.{1,300}?)'?(?:, [\w./-]+\.rs:|\n|$)/;

/** Reads all findings in the order of appearance. */
export function parseReport(text: string): ReportedFinding[] {
  const found: ReportedFinding[] = [];
  let draft: Draft | undefined;
  for (const line of text.split("\n")) {
    const header = HEADER.exec(line);
    if (header === null && !TRAILER.test(line)) {
      if (draft !== undefined) readLine(draft, line);
      continue;
    }
    if (draft !== undefined) found.push(findingOf(draft));
    draft = header === null || TRAILER.test(line) ? undefined : newDraft(header);
  }
  if (draft !== undefined) found.push(findingOf(draft));
  return found;
}

/** Returns the reason of the compiler's own crash, if it printed one. */
export function panicOf(text: string): string | undefined {
  return PANIC.exec(text)?.[1];
}

/** Returns the end of what a compiler of another kind printed, without paths of the machine. */
export function lastWords(text: string): string {
  return text.trim().slice(-LAST_WORDS_CHARS).replace(HOST_PATH, "[path]");
}

function newDraft([, severity, code = "compiler", message = ""]: RegExpExecArray): Draft {
  return {
    severity: severity === "error" || severity === "bug" ? "error" : "warning",
    code,
    message: [message],
    labels: [],
    notes: [],
    file: "",
    line: 0,
  };
}

function readLine(draft: Draft, line: string): void {
  const location = LOCATION.exec(line);
  const source = SOURCE_LINE.exec(line);
  const mark = MARK_LINE.exec(line);
  const note = NOTE.exec(line);
  if (location !== null) {
    const [, file = "", lineText, column] = location;
    draft.place ??= { file, line: Number(lineText), column: Number(column) };
    draft.file = file;
    draft.line = Number(lineText);
  } else if (source !== null) draft.line = Number(source[1]);
  else if (mark !== null) readMark(draft, mark[1] ?? "");
  else if (note !== null) draft.notes.push(note[1] ?? "");
  else if (!BREAK_LINE.test(line)) continueLast(draft, line);
}

function readMark(draft: Draft, drawn: string): void {
  const { place } = draft;
  const before = /^(\s*)(-+\s+)\^/.exec(drawn)?.[2];
  // The place names the first label of the line; carets, not dashes, mark the one that the finding is about.
  if (place !== undefined && before !== undefined && place.line === draft.line)
    draft.place = { ...place, column: place.column + before.length };
  const text = drawn.replace(DRAWING, "").trim();
  if (text === "") return;
  draft.labels.push({ text, file: draft.file, line: draft.line, isPrimary: drawn.includes("^") });
}

/** Messages, labels and notes may go on in the next line. */
function continueLast(draft: Draft, line: string): void {
  const label = draft.labels.at(-1);
  if (draft.notes.length > 0) draft.notes.push(`${draft.notes.pop() ?? ""} ${line}`);
  else if (label !== undefined) label.text += ` ${line}`;
  else draft.message.push(line);
}

function findingOf({ severity, code, message, place, labels, notes }: Draft): ReportedFinding {
  const headline = oneLine(message.join(" "));
  const telling = labels.filter(({ text }) => !POINTING_LABELS.has(oneLine(text)));
  // A pointing label is the one of the place; the others then belong to other places.
  const primary =
    telling.length < labels.length ? undefined : (telling.find(({ isPrimary }) => isPrimary) ?? telling[0]);
  const others = telling.filter((label) => label !== primary);
  return {
    severity,
    code,
    message: primary === undefined ? headline : joined(headline, oneLine(primary.text)),
    ...(place === undefined ? {} : { place }),
    notes: [
      ...others.map(({ file, line, text }) => `${file}:${String(line)}: ${oneLine(text)}`),
      ...notes.map(oneLine).filter((note) => note !== ""),
    ],
  };
}

function joined(headline: string, label: string): string {
  return /[.!?:]$/.test(headline) ? `${headline} ${label}` : `${headline}: ${label}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

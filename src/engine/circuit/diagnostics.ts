/**
 * Turns the compiler's terminal text into diagnostics with file, line and column that can be stored and shown: without
 * escape sequences, with no paths but those of the source, bounded in number and length.
 */

export interface Diagnostic {
  readonly severity: "error" | "warning";
  /**
   * The compiler's code (P = parsing, T = types and constraints, CA = constraint analysis), or one of the engine in
   * lower snake case.
   */
  readonly code: string;
  readonly message: string;
  /** Path within the source, or `circomlib/...`. */
  readonly file?: string;
  /** From 1. */
  readonly line?: number;
  /** From 1. */
  readonly column?: number;
}

/** Where compile-circuit.ts puts the caller's files. */
export const SOURCE_FOLDER = "/src";
/** Where compile-circuit.ts puts the libraries. */
export const LIBRARY_FOLDER = "/lib";

/** More than a person reads; a faulty template that is used a thousand times gives a thousand diagnostics. */
export const DIAGNOSTICS_MAX = 50;
/** The compiler quotes source text of any length in some messages. */
const MESSAGE_CHARS_MAX = 400;
const FILE_CHARS_MAX = 256;

const ESCAPE_SEQUENCE = /\u001b\[[0-9;]*[A-Za-z]/g;
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const HEADER = /^(error|warning)\[(\w{1,12})\]: (.*)$/;
const LOCATION = /┌─ "([^"]+)":(\d{1,9}):(\d{1,9})/;
/** Lines that end a message: a source excerpt, a note, or an empty line. */
const MESSAGE_END = /^\s*(┌─|│|\d+ │|=|$)/;

/** Reads all diagnostics of the compiler's output: errors first, then warnings, each in the order of appearance. */
export function parseDiagnostics(terminalText: string): Diagnostic[] {
  const lines = cleanText(terminalText).split("\n");
  const found: Diagnostic[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const header = HEADER.exec((lines[at] ?? "").trim());
    if (header !== null) found.push(readDiagnostic(header, lines, at));
  }
  const errors = found.filter(({ severity }) => severity === "error");
  const warnings = found.filter(({ severity }) => severity === "warning");
  return boundDiagnostics([...errors, ...warnings]);
}

/** Cuts the list to its maximum; the last entry then says how many are left out. */
export function boundDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  if (diagnostics.length <= DIAGNOSTICS_MAX) return [...diagnostics];
  const shown = diagnostics.slice(0, DIAGNOSTICS_MAX - 1);
  const message = `and ${diagnostics.length - shown.length} more`;
  return [...shown, { severity: diagnostics[shown.length]?.severity ?? "warning", code: "more", message }];
}

/** Makes an error of the engine, in the form of the compiler's. */
export function ownError(code: string, message: string, file?: string): Diagnostic {
  const cleaned = cut(cleanText(message), MESSAGE_CHARS_MAX);
  return {
    severity: "error",
    code,
    message: cleaned,
    ...(file === undefined ? {} : { file: cut(cleanText(file), FILE_CHARS_MAX) }),
  };
}

function readDiagnostic(header: RegExpExecArray, lines: readonly string[], at: number): Diagnostic {
  const [, severity, code = "", first = ""] = header;
  const message = [first];
  let next = at + 1;
  for (; next < lines.length && !MESSAGE_END.test(lines[next] ?? ""); next += 1)
    message.push((lines[next] ?? "").trim());
  const location = LOCATION.exec(lines[next] ?? "");
  return {
    severity: severity === "error" ? "error" : "warning",
    code,
    message: cut(withoutPaths(message.join(" ").trim()), MESSAGE_CHARS_MAX),
    ...(location === null ? {} : locationOf(location)),
  };
}

function locationOf(location: RegExpExecArray): { file: string; line: number; column: number } {
  return {
    file: cut(withoutPaths(location[1] ?? ""), FILE_CHARS_MAX),
    line: Number(location[2]),
    column: Number(location[3]),
  };
}

/** Removes the virtual folders, which mean nothing to the reader. */
function withoutPaths(text: string): string {
  return text.replaceAll(`${SOURCE_FOLDER}/`, "").replaceAll(`${LIBRARY_FOLDER}/`, "");
}

function cleanText(text: string): string {
  return text.replace(ESCAPE_SEQUENCE, "").replace(CONTROL_CHARACTERS, "");
}

function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1)}…`;
}

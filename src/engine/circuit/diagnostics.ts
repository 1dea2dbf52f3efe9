/**
 * Turns the compiler's terminal text into diagnostics with file, line and column that can be stored and shown: without
 * escape sequences, with no paths but those of the source, bounded in number and length.
 */
import { parseReport, type ReportedFinding, type ReportPlace } from "./compiler/compiler-report.js";
import { DIAGNOSTICS_MAX } from "./source-limits.js";
import { SourcePlaces, type ReadSources } from "./compiler/source-places.js";

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
  /** What else the compiler says: labels of other places, the chain of templates, advice. */
  readonly notes?: string[];
}

/** Where compile-circuit.ts puts the caller's files. */
export const SOURCE_FOLDER = "/src";
/** Where compile-circuit.ts puts the libraries. */
export const LIBRARY_FOLDER = "/lib";

/** Warnings about library files, which their user cannot mend. */
export const LIBRARY_WARNINGS_MAX = 10;
/**
 * JSON characters of all diagnostics together. They are part of each prover in a list, and a hundred of them must fit
 * an answer of 8 MiB.
 */
export const DIAGNOSTICS_CHARS_MAX = 60_000;
/** The compiler quotes source text of any length in some messages. */
const MESSAGE_CHARS_MAX = 800;
const NOTE_CHARS_MAX = 800;
const NOTES_MAX = 8;
const FILE_CHARS_MAX = 256;

const ESCAPE_SEQUENCE = /\u001b\[[0-9;]*[A-Za-z]/g;
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
/** A path that begins with one of the virtual folders; `pkg/lib/x.circom` has such a name in its middle. */
const VIRTUAL_FOLDER = new RegExp(`(?<![\\w.@/-])(?:${SOURCE_FOLDER}|${LIBRARY_FOLDER})/`, "g");
/** Packages that the source brings with it are libraries, too. */
const LIBRARY_FILE = /^circomlib\/|(?:^|\/)node_modules\//;

/**
 * Reads the compiler's output: errors first, then warnings about the caller's own files, then a few about library
 * files, both by their places. A finding that is repeated word for word is told once.
 * @param sources what the compiler has read, for findings that it prints without a place
 */
export function parseDiagnostics(terminalText: string, sources: ReadSources): Diagnostic[] {
  const places = new SourcePlaces(sources);
  const all = new Map<string, Diagnostic>();
  for (const finding of parseReport(cleanText(terminalText))) {
    const diagnostic = diagnosticOf(finding, finding.place ?? placeOf(finding, places));
    const { severity, code, message, file, line, column } = diagnostic;
    const name = JSON.stringify([severity, code, message, file, line, column]);
    // The same statement in a thousand instances of a template is one finding.
    if (!all.has(name)) all.set(name, diagnostic);
  }
  const found = [...all.values()];
  // Sorted, because the compiler prints its analysis in an order that changes from run to run.
  const warnings = found.filter(({ severity }) => severity === "warning").sort(byPlace);
  return boundDiagnostics([
    ...found.filter(({ severity }) => severity === "error"),
    ...warnings.filter((warning) => !isAboutLibrary(warning)),
    ...libraryWarnings(warnings.filter(isAboutLibrary)),
  ]);
}

/** Cuts the list to its maximum of entries and characters; the last entry then says how many are left out. */
export function boundDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const kept: Diagnostic[] = [];
  let chars = 0;
  for (const diagnostic of diagnostics) {
    chars += JSON.stringify(diagnostic).length;
    if (kept.length === DIAGNOSTICS_MAX || chars > DIAGNOSTICS_CHARS_MAX) break;
    kept.push(diagnostic);
  }
  if (kept.length === diagnostics.length) return kept;
  const shown = kept.slice(0, DIAGNOSTICS_MAX - 1);
  const message = `and ${diagnostics.length - shown.length} more`;
  return [...shown, { severity: diagnostics[shown.length]?.severity ?? "warning", code: "more", message }];
}

/** Makes an error of the engine, in the form of the compiler's. */
export function ownError(
  code: string,
  message: string,
  more: { readonly file?: string | undefined; readonly notes?: readonly string[] } = {},
): Diagnostic {
  return {
    severity: "error",
    code,
    message: shown(message, MESSAGE_CHARS_MAX),
    ...(more.file === undefined ? {} : { file: shown(more.file, FILE_CHARS_MAX) }),
    ...(more.notes === undefined ? {} : { notes: more.notes.map((note) => shown(note, NOTE_CHARS_MAX)) }),
  };
}

function byPlace(a: Diagnostic, b: Diagnostic): number {
  const [fileA, fileB] = [a.file ?? "", b.file ?? ""];
  if (fileA !== fileB) return fileA < fileB ? -1 : 1;
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

function libraryWarnings(warnings: readonly Diagnostic[]): Diagnostic[] {
  const kept = warnings.slice(0, LIBRARY_WARNINGS_MAX);
  const rest = warnings.length - kept.length;
  if (rest === 0) return kept;
  return [...kept, { severity: "warning", code: "more", message: `and ${rest} more about library files` }];
}

function isAboutLibrary({ file }: Diagnostic): boolean {
  return file !== undefined && LIBRARY_FILE.test(file);
}

function diagnosticOf({ severity, code, message, notes }: ReportedFinding, place: ReportPlace | undefined): Diagnostic {
  return {
    severity,
    code,
    message: shown(message, MESSAGE_CHARS_MAX),
    ...(place === undefined ? {} : { file: shown(place.file, FILE_CHARS_MAX), line: place.line, column: place.column }),
    ...(notes.length === 0 ? {} : { notes: notes.slice(0, NOTES_MAX).map((note) => shown(note, NOTE_CHARS_MAX)) }),
  };
}

/** Finds the place of a finding that the compiler prints without one, by the words of its message. */
function placeOf({ message }: ReportedFinding, places: SourcePlaces): ReportPlace | undefined {
  if (message === "No main specified in the project structure") return places.start();
  const included = /^The file (.+) to be included has not been found$/.exec(message)?.[1];
  if (included !== undefined) return places.include(included);
  const version = /^File "([^"]+)" (?:requires|does not include) pragma/.exec(message)?.[1];
  if (version !== undefined) return places.pragma(version);
  const endless = /^In ([\w$]+) there are paths without return/.exec(message)?.[1];
  if (endless !== undefined) return places.definition("function", endless);
  const [, template, rest = ""] = /^In template "([\w$]+)\(.*?": (.*)$/.exec(message) ?? [];
  if (template === undefined) return undefined;
  return places.definition("template", template, /\bsignals? ([\w$]+)/.exec(rest)?.[1]);
}

/** Text for the reader: without the virtual folders, which mean nothing to them, and bounded. */
function shown(text: string, charsMax: number): string {
  const plain = cleanText(text).replace(VIRTUAL_FOLDER, "");
  return plain.length <= charsMax ? plain : `${plain.slice(0, charsMax - 1)}…`;
}

function cleanText(text: string): string {
  return text.replace(ESCAPE_SEQUENCE, "").replace(CONTROL_CHARACTERS, "");
}

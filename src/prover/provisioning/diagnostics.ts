/**
 * Cuts the diagnostics of compilers and checks to printable text of bounded length before they are stored, because they
 * quote untrusted source.
 */
import { DIAGNOSTICS_MAX } from "../../engine/circuit/source-limits.js";
import { DIAGNOSTIC_NOTES_MAX, DIAGNOSTIC_TEXT_LENGTH_MAX, type ProverDiagnostic } from "../schemas.js";

const CODE_LENGTH_MAX = 64;
const FILE_LENGTH_MAX = 256;

/** Makes a diagnostic of the server's own, without a place in the source. */
export function diagnostic(code: string, message: string): ProverDiagnostic {
  return { code, message };
}

/**
 * Returns at most `DIAGNOSTICS_MAX` diagnostics, each cut and without control characters. If there are more, the last
 * one says how many are not shown.
 */
export function limitDiagnostics(diagnostics: readonly ProverDiagnostic[]): ProverDiagnostic[] {
  if (diagnostics.length <= DIAGNOSTICS_MAX) return diagnostics.map(limitDiagnostic);
  const shown = diagnostics.slice(0, DIAGNOSTICS_MAX - 1).map(limitDiagnostic);
  return [...shown, diagnostic("more", `${String(diagnostics.length - shown.length)} more are not shown`)];
}

function limitDiagnostic({ message, code, file, line, column, notes }: ProverDiagnostic): ProverDiagnostic {
  return {
    message: printable(message, DIAGNOSTIC_TEXT_LENGTH_MAX),
    code: printable(code, CODE_LENGTH_MAX),
    ...(file === undefined ? {} : { file: printable(file, FILE_LENGTH_MAX) }),
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
    ...(notes === undefined
      ? {}
      : { notes: notes.slice(0, DIAGNOSTIC_NOTES_MAX).map((note) => printable(note, DIAGNOSTIC_TEXT_LENGTH_MAX)) }),
  };
}

function printable(text: string, lengthMax: number): string {
  // Through UTF-8, which turns lone surrogates into U+FFFD: the store takes well-formed text only.
  return Buffer.from(text)
    .toString("utf8")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")
    .slice(0, lengthMax);
}

/** Keeps what compilers and checks have to say small and printable before it is stored: they quote untrusted source. */
import { FINDINGS_MAX, FINDING_TEXT_LENGTH_MAX, type Finding } from "../schemas.js";

const CODE_LENGTH_MAX = 64;
const FILE_LENGTH_MAX = 256;

export function finding(code: string, message: string): Finding {
  return { code, message };
}

/** At most `FINDINGS_MAX` of them, each cut and without control characters; one more says how many were left out. */
export function limitFindings(findings: readonly Finding[]): Finding[] {
  const kept = findings.slice(0, findings.length > FINDINGS_MAX ? FINDINGS_MAX - 1 : FINDINGS_MAX).map(limitFinding);
  const left = findings.length - kept.length;
  return left === 0 ? kept : [...kept, finding("more", `${String(left)} more are not shown`)];
}

function limitFinding({ message, code, file, line, column }: Finding): Finding {
  return {
    message: printable(message, FINDING_TEXT_LENGTH_MAX),
    code: printable(code, CODE_LENGTH_MAX),
    ...(file === undefined ? {} : { file: printable(file, FILE_LENGTH_MAX) }),
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
  };
}

function printable(text: string, lengthMax: number): string {
  // Through UTF-8, which turns lone surrogates into U+FFFD: the store takes well-formed text only.
  return Buffer.from(text)
    .toString("utf8")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")
    .slice(0, lengthMax);
}

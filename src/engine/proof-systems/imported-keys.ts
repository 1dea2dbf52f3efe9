/** What the proof systems share in reading keys that were made elsewhere. */
import type { ImportProblem } from "../circuit/imported-circuit.js";
import type { Decoded } from "../encoding/decoded.js";
import { equalG2 } from "../curves/points.js";
import type { G2Point } from "../curves/points.js";
import type { CandidateString } from "./proof-system.js";
import type { StructuredReferenceString } from "./reference-string.js";

/** Names of the uploaded keys, as their senders know them. */
export const KEY_FILES = { provingKey: "proving_key.zkey", verifyingKey: "verification_key.json" } as const;

/** Returns the problem of an uploaded key. */
export function keyProblem(message: string): ImportProblem {
  return { ok: false, code: "import_invalid", file: KEY_FILES.provingKey, message };
}

/** Returns the problem of an uploaded verifying key. */
export function verifyingKeyProblem(message: string): ImportProblem {
  return { ok: false, code: "import_invalid", file: KEY_FILES.verifyingKey, message };
}

/**
 * Compares an uploaded verifying key with the proving key's own.
 * @param said JSON text; undefined when none was uploaded
 * @param own the proving key's, as JSON
 * @param again decodes parsed JSON and encodes it again, so that spelling does not matter
 */
export function findForeignVerifyingKey(
  said: string | undefined,
  own: object,
  again: (value: unknown) => Decoded<object>,
): ImportProblem | undefined {
  if (said === undefined) return undefined;
  const decoded = again(parsedJson(said));
  if (!decoded.ok) return verifyingKeyProblem(decoded.message);
  return JSON.stringify(decoded.value) === JSON.stringify(own)
    ? undefined
    : verifyingKeyProblem(`is not the verifying key of ${KEY_FILES.provingKey}`);
}

/** Parses JSON; anything that is none is undefined, which is no key either. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is said of a key that does not follow from the string that it was said to follow from. */
export const FOREIGN_STRING = "the key does not follow from the powers-of-tau file that the import names";

/** Finds the string from which a universal key's points are. */
export function findString(
  strings: readonly CandidateString[],
  { powers, tauG2, power }: { readonly powers: Uint8Array; readonly tauG2: G2Point; readonly power: number },
): StructuredReferenceString | undefined {
  for (const candidate of strings) {
    if (candidate.power < power) continue;
    const string = candidate.open();
    const isSame =
      equalG2(string.tauG2, tauG2) &&
      Buffer.compare(string.powersG1(powers.length / (2 * string.curve.fqBytes)), powers) === 0;
    if (isSame) return string;
  }
  return undefined;
}

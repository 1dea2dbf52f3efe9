/** What the proof systems share in reading keys that were made elsewhere. */
import type { ImportProblem } from "../circuit/imported-circuit.js";
import type { Decoded } from "../encoding/decoded.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { equalG2 } from "../curves/points.js";
import type { G2Point } from "../curves/points.js";
import type { CandidateString, ImportedVerifyingKeyResult } from "./proof-system.js";
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

/** How a scheme writes its verifying keys. */
export interface VerifyingKeyForm<Key> {
  /** @param value parsed JSON */
  readonly decode: (value: unknown) => Decoded<Key>;
  /** Returns the one JSON form of a key. */
  readonly encode: (key: Key) => object;
}

/**
 * Compares an uploaded verifying key with the proving key's own; how it is spelled does not matter.
 * @param said JSON text; undefined when none was uploaded
 * @param own the proving key's, as JSON text in the form's own spelling
 */
export function findForeignVerifyingKey<Key>(
  said: string | undefined,
  own: string,
  form: VerifyingKeyForm<Key>,
): ImportProblem | undefined {
  if (said === undefined) return undefined;
  const decoded = form.decode(parsedJson(said));
  if (!decoded.ok) return verifyingKeyProblem(decoded.message);
  return JSON.stringify(form.encode(decoded.value)) === own
    ? undefined
    : verifyingKeyProblem(`is not the verifying key of ${KEY_FILES.provingKey}`);
}

/**
 * Reads a verifying key that comes without a proving key.
 * @param text JSON
 * @param findFault runs the gates that it has alone, and returns what is wrong with it
 */
export function importVerifyingKeyAlone<Key extends { readonly publicCount: number }>(
  text: string,
  form: VerifyingKeyForm<Key>,
  findFault: (key: Key) => string | undefined,
): ImportedVerifyingKeyResult {
  const decoded = form.decode(parsedJson(text));
  if (!decoded.ok) return verifyingKeyProblem(decoded.message);
  const fault = findFault(decoded.value);
  if (fault !== undefined) return verifyingKeyProblem(fault);
  const { publicCount } = decoded.value;
  return { ok: true, verifyingKey: JSON.stringify(form.encode(decoded.value)), publicCount };
}

/**
 * Returns what is wrong with a verifying key of a universal scheme: a string whose secret everybody knows, or a key
 * that takes the proof of nothing.
 * @param verifiesTrivial whether the trivial proof verifies with all public signals 0
 */
export function findUniversalForgery(
  { tauG2, publicCount }: { readonly tauG2: G2Point; readonly publicCount: number },
  { generatorG2 }: CurveParameters,
  verifiesTrivial: (zeros: readonly bigint[]) => boolean,
): string | undefined {
  if (equalG2(tauG2, generatorG2)) return "the reference string has no contribution: anyone can forge proofs";
  return verifiesTrivial(new Array<bigint>(publicCount).fill(0n)) ? "a forged proof verifies" : undefined;
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

/** What the process of an import does (workers/import.process.ts): from stored files to a circuit or what is wrong. */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { readImportedCircuit } from "../../engine/circuit/imported-circuit.js";
import type { ImportProblem } from "../../engine/circuit/imported-circuit.js";
import { verifierInterface } from "../../engine/circuit/interface.js";
import { openPowersOfTau } from "../../engine/powers-of-tau/lagrange-points.js";
import type { PointRowOptions } from "../../engine/powers-of-tau/point-row-work.js";
import { PowersOfTauError } from "../../engine/powers-of-tau/powers-of-tau-error.js";
import { rangeOfPath } from "../../engine/powers-of-tau/range-file.js";
import { KEY_FILES, keyProblem, verifyingKeyProblem } from "../../engine/proof-systems/imported-keys.js";
import { findOtherScheme, findOtherSchemeOfVerifyingKey } from "../../engine/proof-systems/key-protocol.js";
import { PROOF_SYSTEMS } from "../../engine/proof-systems/names.js";
import type { CandidateString } from "../../engine/proof-systems/proof-system.js";
import { openReferenceString } from "../../engine/proof-systems/reference-string-file.js";
import { proofSystem } from "../../engine/proof-systems/table.js";
import type { ImportFiles, StoredFile } from "./compute.js";
import type { ImportTaskAnswer, ImportTaskRequest } from "./import-task.js";

/** Names of the files, as their senders know them. */
const FILE_NAMES: Readonly<Record<keyof ImportFiles, string>> = {
  r1cs: "circuit.r1cs",
  witnessProgram: "circuit.wasm",
  sym: "circuit.sym",
  ...KEY_FILES,
};
/** Node reads no more of a file at once. */
const READ_BYTES_MAX = 2 ** 31 - 1;
/** Programs and keys in JSON are small; what is longer is something else. */
const BYTES_MAX: Readonly<Partial<Record<keyof ImportFiles, number>>> = {
  witnessProgram: 128 * 1024 * 1024,
  verifyingKey: 64 * 1024 * 1024,
};
const RESIDENT = ["r1cs", "witnessProgram", "provingKey"] as const satisfies readonly (keyof ImportFiles)[];

/** The keys of an import, read and hashed once: a proving key may have gigabytes. */
interface ReadKeys {
  readonly provingKey: Buffer | undefined;
  /** JSON text. */
  readonly verifyingKey: string | undefined;
}

/** Reads the files of an import. Whatever is wrong with them is a result. */
export async function readImport(request: ImportTaskRequest, options: PointRowOptions = {}): Promise<ImportTaskAnswer> {
  const { files, system, limits, residentBytesMax } = request;
  const tooLong = findTooLong(files) ?? findTooLarge(request);
  if (tooLong !== undefined) return tooLong;
  const { r1cs, witnessProgram, sym } = files;
  const { curve } = proofSystem(system);
  const keys = readKeys(files);
  const otherScheme = findOtherKey(request, keys);
  if (otherScheme !== undefined) return otherScheme;
  if (r1cs === undefined || witnessProgram === undefined) return await readVerifyingKey(request, keys);
  const r1csBytes = read(r1cs);
  const imported = await readImportedCircuit(
    {
      r1cs: r1csBytes,
      witnessProgram: read(witnessProgram),
      ...(sym === undefined ? {} : { sym: read(sym) }),
    },
    { ...limits, curve: curve.name },
  );
  if (!imported.ok) return imported;
  const circuit = { circuit: imported.circuit, witnessProgram: imported.witnessProgram };
  const { provingKey, verifyingKey } = keys;
  if (provingKey === undefined) return { ok: true, value: circuit };
  const keyFiles = {
    ...{ r1cs: r1csBytes, provingKey, strings: candidatesOf(request) },
    ...(verifyingKey === undefined ? {} : { verifyingKey }),
    ...(request.needsString === undefined ? {} : { needsString: request.needsString }),
  };
  const key = await proofSystem(system).importKey(keyFiles, options);
  if (!key.ok) return key;
  const { ok: _, ...value } = key;
  const residentBytes = r1csBytes.length + circuit.witnessProgram.length + (key.provingKey?.length ?? 0);
  if (residentBytes > (residentBytesMax ?? Infinity))
    return tooLargeProblem(KEY_FILES.provingKey, "the key", { bytes: residentBytes, most: residentBytesMax });
  return { ok: true, value: { ...circuit, ...value } };
}

async function readVerifyingKey({ system }: ImportTaskRequest, keys: ReadKeys): Promise<ImportTaskAnswer> {
  if (keys.verifyingKey === undefined) throw new Error("an import has a circuit or a verifying key");
  const known = proofSystem(system);
  const key = await known.importVerifyingKey(keys.verifyingKey);
  if (!key.ok) return key;
  const { verifyingKey, publicCount } = key;
  return { ok: true, value: { circuit: verifierInterface(known.curve.name, publicCount), verifyingKey } };
}

/** Before anything else is said of a key: what its reader finds in one of another scheme tells its sender nothing. */
function findOtherKey(
  { system }: ImportTaskRequest,
  { provingKey, verifyingKey }: ReadKeys,
): ImportProblem | undefined {
  const { scheme } = PROOF_SYSTEMS[system];
  const wrongKey = provingKey === undefined ? undefined : findOtherScheme(provingKey, scheme);
  if (wrongKey !== undefined) return keyProblem(wrongKey);
  const wrong = verifyingKey === undefined ? undefined : findOtherSchemeOfVerifyingKey(verifyingKey, scheme);
  return wrong === undefined ? undefined : verifyingKeyProblem(wrong);
}

function candidatesOf({ system, strings = [] }: ImportTaskRequest): CandidateString[] {
  const { curve } = proofSystem(system);
  return strings.map((string) => ({
    sha256: string.sha256,
    power: string.power,
    open: () => openReferenceString(string, curve),
    openPowers: () => {
      try {
        return openPowersOfTau(rangeOfPath(string.path));
      } catch (error) {
        // A string for development has no powers of alpha and beta.
        if (error instanceof PowersOfTauError) return undefined;
        throw error;
      }
    },
  }));
}

function findTooLong(files: ImportFiles): ImportProblem | undefined {
  for (const name of Object.keys(FILE_NAMES) as (keyof ImportFiles)[]) {
    const file = files[name];
    const bytesMax = BYTES_MAX[name] ?? READ_BYTES_MAX;
    if (file !== undefined && statSync(file.path).size > bytesMax)
      return {
        ok: false,
        code: "circuit_too_large",
        file: FILE_NAMES[name],
        message: `longer than the ${String(bytesMax)} bytes that can be read`,
      };
  }
  return undefined;
}

/** What proofs load into the server's memory, whose limit the operator sets. */
function findTooLarge({ system, files, residentBytesMax = Infinity }: ImportTaskRequest): ImportProblem | undefined {
  // A key that is kept in another form has another size.
  const isConverted = proofSystem(system).exportZkey !== undefined;
  const names = RESIDENT.filter((name) => files[name] !== undefined && !(isConverted && name === "provingKey"));
  const bytes = names.reduce((sum, name) => sum + statSync(files[name]?.path ?? "").size, 0);
  if (bytes <= residentBytesMax) return undefined;
  const file = FILE_NAMES[files.provingKey === undefined ? "r1cs" : "provingKey"];
  const what = names.map((name) => FILE_NAMES[name]).join(", ");
  return tooLargeProblem(file, what, { bytes, most: residentBytesMax });
}

function tooLargeProblem(
  file: string,
  what: string,
  { bytes, most }: { readonly bytes: number; readonly most: number | undefined },
): ImportProblem {
  const message = `${what} have ${String(bytes)} bytes together, more than the ${String(most)} that the server keeps for keys`;
  return { ok: false, code: "circuit_too_large", file, message };
}

function readKeys({ provingKey, verifyingKey }: ImportFiles): ReadKeys {
  return {
    provingKey: provingKey === undefined ? undefined : read(provingKey),
    verifyingKey: verifyingKey === undefined ? undefined : read(verifyingKey).toString("utf8"),
  };
}

function read({ path, sha256 }: StoredFile): Buffer {
  const bytes = readFileSync(path);
  if (createHash("sha256").update(bytes).digest("hex") !== sha256)
    throw new Error("a file does not have the content that its hash says");
  return bytes;
}

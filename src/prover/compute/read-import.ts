/** What the process of an import does (workers/import.process.ts): from stored files to a circuit or what is wrong. */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { readImportedCircuit } from "../../engine/circuit/imported-circuit.js";
import type { ImportProblem } from "../../engine/circuit/imported-circuit.js";
import { readImportedKey } from "../../engine/groth16/imported-key.js";
import type { ImportFiles, StoredFile } from "./compute.js";
import type { ImportTaskAnswer, ImportTaskRequest } from "./import-task.js";

/** Names of the files, as their senders know them. */
const FILE_NAMES: Readonly<Record<keyof ImportFiles, string>> = {
  r1cs: "circuit.r1cs",
  witnessProgram: "circuit.wasm",
  sym: "circuit.sym",
  provingKey: "proving_key.zkey",
  verifyingKey: "verification_key.json",
};
/** Node reads no more of a file at once. */
const READ_BYTES_MAX = 2 ** 31 - 1;
/** Programs and keys in JSON are small; what is longer is something else. */
const BYTES_MAX: Readonly<Partial<Record<keyof ImportFiles, number>>> = {
  witnessProgram: 128 * 1024 * 1024,
  verifyingKey: 64 * 1024 * 1024,
};
const RESIDENT = ["r1cs", "witnessProgram", "provingKey"] as const satisfies readonly (keyof ImportFiles)[];

/** Reads the files of an import. Whatever is wrong with them is a result. */
export async function readImport({ files, limits, residentBytesMax }: ImportTaskRequest): Promise<ImportTaskAnswer> {
  const tooLong = findTooLong(files) ?? findTooLarge(files, residentBytesMax);
  if (tooLong !== undefined) return tooLong;
  const imported = await readImportedCircuit(
    { r1cs: read(files.r1cs), witnessProgram: read(files.witnessProgram), sym: read(files.sym) },
    limits,
  );
  if (!imported.ok) return imported;
  const { circuit, r1cs, witnessProgram } = imported;
  if (files.provingKey === undefined) return { ok: true, value: { circuit, witnessProgram } };
  const key = await readImportedKey(
    {
      provingKey: read(files.provingKey),
      ...(files.verifyingKey === undefined ? {} : { verifyingKey: read(files.verifyingKey).toString("utf8") }),
    },
    r1cs,
  );
  return key.ok ? { ok: true, value: { circuit, witnessProgram, verifyingKey: key.verifyingKey } } : key;
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
function findTooLarge(files: ImportFiles, residentBytesMax = Infinity): ImportProblem | undefined {
  const resident = RESIDENT.flatMap((name) => files[name] ?? []);
  const bytes = resident.reduce((sum, { path }) => sum + statSync(path).size, 0);
  if (bytes <= residentBytesMax) return undefined;
  const file = FILE_NAMES[files.provingKey === undefined ? "r1cs" : "provingKey"];
  const names = RESIDENT.filter((name) => files[name] !== undefined).map((name) => FILE_NAMES[name]);
  return {
    ok: false,
    code: "circuit_too_large",
    file,
    message: `${names.join(", ")} have ${String(bytes)} bytes together, more than the ${String(residentBytesMax)} that the server keeps for keys`,
  };
}

function read({ path, sha256 }: StoredFile): Buffer {
  const bytes = readFileSync(path);
  if (createHash("sha256").update(bytes).digest("hex") !== sha256)
    throw new Error("a file does not have the content that its hash says");
  return bytes;
}

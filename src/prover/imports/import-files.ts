/** The files of an import by the names that clients know, and which of them a prover has and waits for. */
import { AppError, invalidMember } from "../../platform/errors.js";
import type { ArtifactReference } from "../../platform/store/artifacts.js";
import type { ImportRequest } from "./import-schemas.js";

/** The artifact that each file becomes, by the file's name in the path of its upload. */
const ARTIFACT_OF = {
  "circuit.r1cs": "circuit.r1cs",
  "circuit.wasm": "circuit.wasm",
  "circuit.sym": "circuit.sym",
  "proving_key.zkey": "proving_key",
  "verification_key.json": "imported_verifying_key.json",
} as const satisfies Readonly<Record<Exclude<keyof ImportRequest, "reference_string">, string>>;

export type ImportFileName = keyof typeof ARTIFACT_OF;
type ImportArtifact = (typeof ARTIFACT_OF)[ImportFileName];

/** The part of a stored prover that says which files it has and waits for. */
interface Importing {
  readonly status: string;
  readonly build: {
    readonly import?: { readonly files: Readonly<Partial<Record<string, { readonly sha256: string | null }>>> };
    readonly artifacts: { readonly [Name in ImportArtifact]?: ArtifactReference };
  };
}

/** How far a file of a prover is. */
export interface FileState {
  readonly name: ImportFileName;
  /** SHA-256 that the file has or must have; undefined while neither is known. */
  readonly sha256: string | undefined;
  readonly stored: ArtifactReference | undefined;
}

/** Returns the names of the files that a request announces. */
export function announcedFiles(request: ImportRequest): ImportFileName[] {
  return (Object.keys(ARTIFACT_OF) as ImportFileName[]).filter((name) => request[name] !== undefined);
}

/** Returns whether the prover is the import of a verifying key alone, which can prove nothing. */
export function isVerifierOnly({ build }: Pick<Importing, "build">): boolean {
  return build.import !== undefined && build.import.files["circuit.r1cs"] === undefined;
}

/** Returns the artifact that a file becomes. */
export function artifactOf(name: ImportFileName): ImportArtifact {
  return ARTIFACT_OF[name];
}

/** Returns the announced files of an import, in a fixed order; none for other provers. */
export function importFiles({ build }: Importing): FileState[] {
  const announced = build.import?.files;
  if (announced === undefined) return [];
  return (Object.keys(ARTIFACT_OF) as ImportFileName[]).flatMap((name) => {
    const file = announced[name];
    if (file === undefined) return [];
    const stored = build.artifacts[ARTIFACT_OF[name]];
    return [{ name, sha256: stored?.sha256 ?? file.sha256 ?? undefined, stored }];
  });
}

/** Returns whether the prover is an import that lacks a file; nothing happens to it until the last one has come. */
export function isWaitingForFiles(prover: Importing): boolean {
  return prover.status === "init" && importFiles(prover).some(({ stored }) => stored === undefined);
}

/** Returns whether the prover waits for a file. */
export function isExpected(prover: Importing, name: string): boolean {
  const isMissing = importFiles(prover).some((file) => file.name === name && file.stored === undefined);
  return prover.status === "init" && isMissing;
}

/**
 * Finds the announced file of an upload.
 * @throws AppError `upload_not_expected` when the prover does not wait for it
 */
export function expectedFile(prover: Importing, name: string): FileState {
  const files = importFiles(prover);
  const found = files.find((file) => file.name === name);
  const missing = files.filter(({ stored }) => stored === undefined);
  if (found?.stored === undefined && found !== undefined && prover.status === "init") return found;
  throw new AppError("upload_not_expected", {
    message:
      prover.build.import === undefined
        ? "the prover was not made for an import"
        : `the prover does not wait for ${name}; missing: ${missing.map((file) => file.name).join(", ") || "nothing"}`,
  });
}

/**
 * Checks which files an import announces: a circuit, with a proving key and its verifying key or without, or a
 * verifying key alone.
 * @throws AppError `invalid_request`
 */
export function requireWholeImport(files: ImportRequest): void {
  const missing = (name: ImportFileName, message: string): void => {
    if (files[name] === undefined) throw invalidMember(`import.${name}`, message);
  };
  const names = announcedFiles(files);
  const isKeyAlone = names.length === 1 && names[0] === "verification_key.json";
  if (files.reference_string !== undefined)
    missing("proving_key.zkey", "reference_string is for a proving_key.zkey, which is missing");
  if (isKeyAlone) return;
  missing("circuit.r1cs", "circuit.r1cs is missing");
  missing("circuit.wasm", "circuit.wasm is missing");
  if (files["verification_key.json"] !== undefined && files["proving_key.zkey"] === undefined)
    throw invalidMember(
      "import.verification_key.json",
      "a verifying key belongs to proving_key.zkey, which is missing, or stands alone",
    );
}

/**
 * The source of a circuit, from the caller or shipped with the server: checked, brought into one form, and named by its
 * hash. Never opens a file whose path comes from a caller.
 */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { AppError, assert, invalidMember, type ErrorDetail } from "../../platform/errors.js";
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import { filesThatAreFolders, findPathFault } from "../../engine/circuit/source-limits.js";
import { MAIN_FILE_DEFAULT, type CreateProver } from "../schemas.js";

export type CircuitSource = {
  /** Path -> text. */
  readonly files: Readonly<Record<string, string>>;
  /** The file with the main component. */
  readonly main: string;
  /** Of the compiler; its defaults when absent. */
  readonly options?: SourceOptions;
};

/** Options of the compiler that change what it writes. */
export type SourceOptions = { readonly optimization?: 0 | 1 | 2; readonly rounds?: number };

/** What the source of one circuit may have, by the settings. */
export interface SourceLimits {
  /** UTF-8 bytes of all files together. */
  readonly bytesMax: number;
  readonly filesMax: number;
}

/** A source, its name and its hash. */
export interface NamedSource {
  /** Of a built-in circuit: inputs that satisfy it. */
  readonly satisfyingInputs?: unknown;
  readonly identifier: string;
  readonly isBuiltIn: boolean;
  readonly source: CircuitSource;
  /** SHA-256 of the source in its canonical form, lower-case hex. */
  readonly hash: string;
}

const IDENTIFIER = /^[a-z0-9_]{1,64}$/;
/** Wrong paths that one answer names. */
const PATH_FAULTS_MAX = 20;
/** Characters of a wrong path that an answer repeats. */
const PATH_SHOWN_LENGTH_MAX = 64;
/** Digits of the hash in the identifier of a prover made from source: enough for people to tell circuits apart. */
const IDENTIFIER_HASH_LENGTH = 16;

/**
 * The circuits that ship with the server: one folder each, named like the identifier, with an `inputs.json` beside the
 * source. A `.circom` file beside the folders belongs to every circuit that includes it.
 */
export class BuiltInCircuits {
  readonly #sources = new Map<string, NamedSource>();

  /** Reads all of `folder`/<identifier>/*.circom at once; a few dozen small files. */
  constructor(options: { readonly folder: string }) {
    const shared = readTexts(options.folder);
    for (const entry of readdirSync(options.folder, { withFileTypes: true })) {
      if (!entry.isDirectory() || !IDENTIFIER.test(entry.name)) continue;
      const folder = join(options.folder, entry.name);
      const source = readSource(folder, `${entry.name}.circom`, shared);
      this.#sources.set(entry.name, {
        identifier: entry.name,
        isBuiltIn: true,
        source,
        hash: hashSource(source),
        satisfyingInputs: readExample(folder),
      });
    }
  }

  /** Names of the built-in circuits, sorted. */
  get identifiers(): readonly string[] {
    return [...this.#sources.keys()].sort();
  }

  /** Finds a built-in circuit by name, in any letter case. */
  find(identifier: string): NamedSource | undefined {
    return this.#sources.get(identifier.trim().toLowerCase());
  }

  /** @throws AppError `identifier_unknown`, naming the existing ones */
  get(identifier: string): NamedSource {
    const found = this.find(identifier);
    if (found !== undefined) return found;
    const message = `there is no built-in circuit "${identifier}"; built in: ${this.identifiers.join(", ")}`;
    throw invalidMember("identifier", message, "identifier_unknown");
  }
}

/**
 * Reads the circuit of a request: a built-in one by name, or the caller's own source.
 * @throws AppError `identifier_unknown`, or `source_invalid` when neither or both are given, or when the source is too
 *   long, has no main file, or has a path that no file can have
 */
export function sourceOf(
  request: Pick<CreateProver, "identifier" | "source" | "main">,
  { builtIns, limits }: { readonly builtIns: BuiltInCircuits; readonly limits: SourceLimits },
): NamedSource {
  const { identifier, source } = request;
  if (typeof identifier === "string") {
    if (source !== undefined && source !== null)
      throw sourceInvalid("give either identifier or source, not both", "source");
    if (typeof request.main === "string")
      throw sourceInvalid("main belongs to source; a built-in circuit has its own", "main");
    return builtIns.get(identifier);
  }
  if (source === undefined || source === null) throw sourceInvalid("give identifier or source", "identifier");
  const own = ownSource(source, request.main ?? undefined, limits);
  const hash = hashSource(own);
  return { identifier: `source-${hash.slice(0, IDENTIFIER_HASH_LENGTH)}`, isBuiltIn: false, source: own, hash };
}

/** Built-in circuits that say the same over every field: no constants of a hash or curve of BN254 are in them. */
const OF_EVERY_FIELD: ReadonlySet<string> = new Set(["cubic", "sha256_preimage"]);

/**
 * Requires that a circuit means over a curve's scalar field what it says.
 * @throws AppError `prover_unsupported` for a built-in circuit that was made for BN254's
 */
export function requireCurve({ identifier, isBuiltIn }: NamedSource, curve: CurveName): void {
  if (!isBuiltIn || curve === "BN254" || OF_EVERY_FIELD.has(identifier)) return;
  const message = `the built-in circuit ${identifier} is over the scalar field of BN254`;
  throw invalidMember("curve", message, "prover_unsupported");
}

/**
 * Returns the name of a compiled circuit: SHA-256 over the source, the curve, and the compiler with its flags, in
 * lower-case hex. The compiler's default options are part of its name.
 * @param compilerName name and version of the compiler, its flags, and the library
 */
export function circuitHash(
  circuit: Pick<NamedSource, "hash" | "source">,
  curve: string,
  compilerName: string,
): string {
  const { optimization = 2, rounds } = circuit.source.options ?? {};
  const flags =
    rounds === undefined ? (optimization === 2 ? "" : `\nO${String(optimization)}`) : `\nO2round ${String(rounds)}`;
  return createHash("sha256").update(`pv/v1/circuit\n${circuit.hash}\n${curve}\n${compilerName}${flags}`).digest("hex");
}

/**
 * Returns a source that is compiled with these options.
 * @throws AppError `source_invalid` for rounds at a level that has none
 */
export function withOptions(named: NamedSource, { optimization, rounds }: SourceOptions): NamedSource {
  if (rounds !== undefined && (optimization ?? 2) !== 2)
    throw sourceInvalid("rounds belong to optimization 2", "options.rounds");
  if (optimization === undefined && rounds === undefined) return named;
  const options = { optimization: optimization ?? 2, ...(rounds === undefined ? {} : { rounds }) };
  return { ...named, source: { ...named.source, options } };
}

function ownSource(
  source: string | Readonly<Record<string, string>>,
  main: string | undefined,
  { bytesMax, filesMax }: SourceLimits,
): CircuitSource {
  const files: Readonly<Record<string, string>> =
    typeof source === "string" ? { [main ?? MAIN_FILE_DEFAULT]: source } : source;
  const names = Object.keys(files);
  if (names.length > filesMax)
    throw sourceInvalid(
      `the source has ${String(names.length)} files, at most ${String(filesMax)} are allowed`,
      "source",
    );
  requirePaths(names);
  const mainFile = main ?? (names.length === 1 ? names[0] : undefined) ?? MAIN_FILE_DEFAULT;
  if (!Object.hasOwn(files, mainFile))
    throw sourceInvalid(`the source has no file ${mainFile}; name the one with the main component in "main"`, "main");
  const bytes = names.reduce((total, name) => total + Buffer.byteLength(files[name] ?? ""), 0);
  if (bytes > bytesMax)
    throw sourceInvalid(`the source has ${String(bytes)} bytes, at most ${String(bytesMax)} are allowed`, "source");
  return { files, main: mainFile };
}

/** Checked before anything is stored: the schema of the body cannot say it of the names of an object. */
function requirePaths(names: readonly string[]): void {
  const faults = new Map(
    names.flatMap((name) => {
      const fault = findPathFault(name);
      return fault === undefined ? [] : [[name, fault] as const];
    }),
  );
  for (const name of filesThatAreFolders(names)) faults.set(name, "is also a folder of another path");
  const details = [...faults].slice(0, PATH_FAULTS_MAX).map(([name, fault]): ErrorDetail => {
    const shown = name.slice(0, PATH_SHOWN_LENGTH_MAX).replace(/[^\x20-\x7e]/g, "?");
    return { message: `the source path "${shown}" ${fault}`, code: "source_invalid", path: "source" };
  });
  const [first] = details;
  if (first !== undefined) throw new AppError("source_invalid", { message: first.message, details });
}

function readSource(folder: string, main: string, shared: CircuitSource["files"]): CircuitSource {
  const own = readTexts(folder);
  assert(Object.hasOwn(own, main), `a built-in circuit has its main file ${main}`);
  const included = Object.entries(shared).filter(([name]) =>
    Object.values(own).some((text) => text.includes(`include "${name}";`)),
  );
  return { files: { ...own, ...Object.fromEntries(included) }, main };
}

/** The .circom files of a folder, by name. */
function readTexts(folder: string): CircuitSource["files"] {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".circom"))
    .sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

function readExample(folder: string): unknown {
  return (JSON.parse(readFileSync(join(folder, "inputs.json"), "utf8")) as { satisfying: unknown }).satisfying;
}

/** The length before every text keeps two different sources from having the same bytes. */
function hashSource(source: CircuitSource): string {
  const hash = createHash("sha256").update("pv/v1/source");
  const texts = [
    source.main,
    ...Object.keys(source.files)
      .sort()
      .flatMap((name) => [name, source.files[name] ?? ""]),
  ];
  for (const text of texts) hash.update(`${String(Buffer.byteLength(text))}:`).update(text);
  return hash.digest("hex");
}

function sourceInvalid(message: string, path: string): AppError {
  return invalidMember(path, message, "source_invalid");
}

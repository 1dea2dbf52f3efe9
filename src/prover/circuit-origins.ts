/** Where a new prover's circuit comes from: a source, a built-in circuit, or files that were made elsewhere. */
import type { CurveName } from "../engine/curves/curve-parameters.js";
import type { Subject } from "../platform/auth/principal.js";
import { invalidMember } from "../platform/errors.js";
import type { Catalog } from "./catalog.js";
import type { Imports } from "./imports/imports.js";
import type { ReferenceStrings } from "./provisioning/reference-strings.js";
import type { SourceFiles } from "./provisioning/source-files.js";
import type { StoredProver } from "./repository.js";
import type { CreateProver, Prover } from "./schemas.js";

type Build = StoredProver["build"];

/** What a new prover has of its circuit, and how long its files are held: until the prover names them. */
interface CircuitOrigin {
  readonly prover: Pick<StoredProver, "identifier" | "options" | "source_hash"> &
    Partial<Pick<StoredProver, "trusted_setup">>;
  readonly build: Pick<Build, "circuit_hash" | "is_built_in">;
  hold(use: (files: Pick<Build, "artifacts" | "import">) => Promise<Prover>): Promise<Prover>;
}

interface CircuitOriginsDependencies {
  readonly catalog: Catalog;
  readonly files: SourceFiles;
  readonly imports: Imports;
  /** The reference strings that the server keeps. */
  readonly strings: Pick<ReferenceStrings, "find">;
}

interface Asked {
  readonly request: CreateProver;
  readonly system: ReturnType<Catalog["resolve"]>;
}

/** Digits of a prover's id in the identifier of its imported circuit. */
const IMPORT_ID_LENGTH = 8;

export class CircuitOrigins {
  readonly #with: CircuitOriginsDependencies;

  constructor(dependencies: CircuitOriginsDependencies) {
    this.#with = dependencies;
  }

  /**
   * Returns what a new prover has of its circuit.
   * @throws AppError `source_invalid`, `identifier_unknown`, `prover_unsupported`
   */
  of(owner: Subject, id: string, { request, system }: Asked): CircuitOrigin {
    const announced = request.import ?? undefined;
    if (announced === undefined) return this.#fromSource({ request, system });
    if (this.#with.catalog.providerOf(system).readImport === undefined)
      throw invalidMember("import", `${system.provider} takes no circuits from outside`, "source_invalid");
    requireImportable(request);
    this.#requireString(announced, system.system.importCurve);
    return this.#imported(owner, id, announced);
  }

  #imported(owner: Subject, id: string, announced: NonNullable<CreateProver["import"]>): CircuitOrigin {
    const identifier = `import-${id.slice(0, IMPORT_ID_LENGTH)}`;
    const isOwnKey = !bringsKey(announced);
    return {
      prover: { identifier, options: null, source_hash: null, ...(isOwnKey ? {} : { trusted_setup: "imported" }) },
      build: { circuit_hash: `import ${id}`, is_built_in: false },
      hold: async (use) =>
        await this.#with.imports.begin(owner, announced, async (artifacts, stored) =>
          use({ artifacts, ...(stored === undefined ? {} : { import: stored }) }),
        ),
    };
  }

  #requireString({ reference_string }: NonNullable<CreateProver["import"]>, curve: CurveName | undefined): void {
    if (reference_string === undefined) return;
    if (curve !== undefined && this.#with.strings.find(curve, reference_string.sha256) !== undefined) return;
    throw invalidMember(
      "import.reference_string",
      "this server has no checked powers-of-tau file of this SHA-256 over the prover's curve",
      "source_invalid",
    );
  }

  #fromSource({ request, system: offered }: Asked): CircuitOrigin {
    const program = this.#with.catalog.providerOf(offered).readProgram(request, offered.system);
    return {
      prover: { identifier: program.identifier, options: program.options, source_hash: program.sourceHash ?? null },
      build: { circuit_hash: program.hash, is_built_in: program.isBuiltIn },
      hold: async (use) =>
        await this.#with.files.hold(program.content, async (source) => use({ artifacts: { "source.json": source } })),
    };
  }
}

/** Returns whether an import brings its key, so that the server makes none. */
export function bringsKey(announced: NonNullable<CreateProver["import"]>): boolean {
  return announced["proving_key.zkey"] !== undefined || announced["verification_key.json"] !== undefined;
}

/** @throws AppError `source_invalid` for members that say what a circuit from outside already says */
function requireImportable(request: CreateProver): void {
  for (const member of ["identifier", "source", "main", "options"] as const) {
    const given = request[member];
    if (given !== undefined && given !== null)
      throw invalidMember(member, `${member} is not possible with import`, "source_invalid");
  }
  if (request.strict === true)
    throw invalidMember("strict", "a circuit from outside has no source to analyse", "source_invalid");
}

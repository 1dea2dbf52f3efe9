/** Where a new prover's circuit comes from: a source, a built-in circuit, or files that were made elsewhere. */
import type { CurveName } from "../engine/curves/curve-parameters.js";
import type { Subject } from "../platform/auth/principal.js";
import { invalidMember } from "../platform/errors.js";
import type { Catalog } from "./catalog.js";
import type { Imports } from "./imports/imports.js";
import type { ReferenceStrings } from "./provisioning/reference-strings.js";
import type { SourceFiles } from "./provisioning/source-files.js";
import {
  circuitHash,
  requireCurve,
  sourceOf,
  withOptions,
  type BuiltInCircuits,
  type NamedSource,
  type SourceLimits,
} from "./provisioning/sources.js";
import type { StoredProver } from "./repository.js";
import type { CreateProver, Prover } from "./schemas.js";

type Build = StoredProver["build"];

/** What a new prover has of its circuit, and how long its files are held: until the prover names them. */
interface CircuitOrigin {
  readonly prover: Pick<StoredProver, "identifier" | "options"> & Partial<Pick<StoredProver, "trusted_setup">>;
  readonly build: Pick<Build, "circuit_hash" | "is_built_in">;
  hold(use: (files: Pick<Build, "artifacts" | "import">) => Promise<Prover>): Promise<Prover>;
}

interface CircuitOriginsOptions {
  readonly source: SourceLimits;
  /** Compiler, version and flags: part of a compiled circuit's name. */
  readonly compilerName: string;
}

interface CircuitOriginsDependencies {
  readonly catalog: Catalog;
  readonly builtIns: BuiltInCircuits;
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
  readonly #options: CircuitOriginsOptions;
  readonly #with: CircuitOriginsDependencies;

  constructor(options: CircuitOriginsOptions, dependencies: CircuitOriginsDependencies) {
    this.#options = options;
    this.#with = dependencies;
  }

  /**
   * Returns what a new prover has of its circuit.
   * @throws AppError `source_invalid`, `identifier_unknown`, `prover_unsupported`
   */
  of(owner: Subject, id: string, { request, system }: Asked): CircuitOrigin {
    const announced = request.import ?? undefined;
    if (announced === undefined) return this.#fromSource(request, system.curve);
    requireImportable(request);
    this.#requireString(announced, system.curve);
    return this.#imported(owner, id, announced);
  }

  #imported(owner: Subject, id: string, announced: NonNullable<CreateProver["import"]>): CircuitOrigin {
    const identifier = `import-${id.slice(0, IMPORT_ID_LENGTH)}`;
    const isOwnKey = !bringsKey(announced);
    return {
      prover: { identifier, options: null, ...(isOwnKey ? {} : { trusted_setup: "imported" }) },
      build: { circuit_hash: `import ${id}`, is_built_in: false },
      hold: async (use) =>
        await this.#with.imports.begin(owner, announced, async (artifacts, stored) =>
          use({ artifacts, ...(stored === undefined ? {} : { import: stored }) }),
        ),
    };
  }

  #requireString({ reference_string }: NonNullable<CreateProver["import"]>, curve: CurveName): void {
    if (reference_string === undefined || this.#with.strings.find(curve, reference_string.sha256) !== undefined) return;
    throw invalidMember(
      "import.reference_string",
      `this server has no checked powers-of-tau file of this SHA-256 over ${curve}`,
      "source_invalid",
    );
  }

  #fromSource(request: CreateProver, curve: CurveName): CircuitOrigin {
    const circuit = this.#circuitOf(request, curve);
    const { optimization = 2, rounds = null } = circuit.source.options ?? {};
    return {
      prover: { identifier: circuit.identifier, options: { optimization, rounds } },
      build: {
        circuit_hash: circuitHash(circuit, curve, this.#options.compilerName),
        is_built_in: circuit.isBuiltIn,
      },
      hold: async (use) =>
        await this.#with.files.hold(Buffer.from(JSON.stringify(circuit.source)), async (source) =>
          use({ artifacts: { "source.json": source } }),
        ),
    };
  }

  #circuitOf(request: CreateProver, curve: CurveName): NamedSource {
    const { prime, ...options } = request.options ?? {};
    this.#with.catalog.requirePrime(prime, curve);
    const named = sourceOf(request, { builtIns: this.#with.builtIns, limits: this.#options.source });
    requireCurve(named, curve);
    return withOptions(named, options);
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

/**
 * The records of provers, proofs and compiled circuits. Every key starts with the owner, so that another tenant's
 * prover cannot be found. Decides nothing; builds commits that the callers merge.
 */
import { ownerKey, type Subject } from "../platform/auth/principal.js";
import type { Store, StoreCommit, StoreKey, StorePut, StoreRecord } from "../platform/store/store.js";
import { defineTable, mergeCommits, type Page, type Table } from "../platform/store/tables.js";
import type { CurveName } from "../engine/curves/curve-parameters.js";
import { isInCeremony } from "./ceremonies/waiting.js";
import { isWaitingForFiles } from "./imports/import-files.js";
import { isFinished } from "./provisioning/lifecycle.js";
import { ProverLabels, hasMeta } from "./labels/labels.js";
import { VerifierRecords, type StoredPlan } from "./on-chain/verifier-records.js";
import { paceDeletion, type ProofPace } from "./proofs/proof-pace.js";
import { GrantRecords } from "./sharing/grants.js";
import type { ProverAnalysis } from "./analysis/analysis-schemas.js";
import type { ProofFilters, ProverDiagnostic, ProofRecord, Prover, ProverFilters, UniversalSetup } from "./schemas.js";

/**
 * Files of a prover that the registry and circom know, by the name of their download; `reference_string` cannot be
 * downloaded.
 */
export type ArtifactName =
  | "verifying_key.json"
  | "proving_key"
  /** The same key as snarkjs' file, where it is stored in another form: made when it is asked for first. */
  | "proving_key.zkey"
  | "circuit.wasm"
  | "circuit.r1cs"
  | "circuit.sym"
  | "interface.json"
  | "verifier.sol"
  /** An example of a contract that calls it. */
  | "verifier_caller.sol"
  | "reference_string"
  | "source.json"
  /** Of keys from a ceremony: who contributed, and what proves it. */
  | "ceremony-transcript.json"
  /** As uploaded; compared with the proving key's own and then dropped. */
  | "imported_verifying_key.json";
/**
 * By name: those of `ArtifactName`, or a provider's own. A type and not an interface, like everything that is stored
 * as a value.
 */
export type ArtifactSet = { readonly [name: string]: { readonly sha256: string; readonly bytes: number } };

/** The results of compiling a circuit; all provers of the circuit within its scope share them. */
export type CompiledCircuit = {
  readonly artifacts: ArtifactSet;
  readonly warnings: readonly ProverDiagnostic[];
  /** Outputs and inputs in field elements; absent on circuits that were compiled before it was recorded. */
  readonly value_count?: number;
  /** Name and version; absent on circuits that were compiled before it was recorded. */
  readonly compiler?: string;
};

/** Files of an analysis, by the name of their download. */
export type AnalysisArtifactName =
  "analysis.json" | "witness_1.wtns" | "witness_2.wtns" | "analysis.r1cs" | "analysis.sym";
/** The result of analysing a circuit; all provers of the circuit within its scope share it. */
export type AnalysisResult = Pick<ProverAnalysis, "verdict" | "reason"> & {
  readonly artifacts: {
    readonly [Name in AnalysisArtifactName]?: { readonly sha256: string; readonly bytes: number };
  };
};
/** Apart from the prover's record, which provisioning alone changes. */
export type StoredAnalysis = ProverAnalysis &
  AnalysisResult & {
    readonly owner: Subject;
    /** Of its job. */
    readonly id: string;
    readonly created_at: string;
    readonly prover_id: string;
  };

/** What provisioning stores; never on the wire. */
interface ProverBuild {
  readonly owner: Subject;
  /** Names the circuit: source, compiler, its flags, curve. */
  readonly circuit_hash: string;
  readonly is_built_in: boolean;
  /** Vault key that notes are encrypted with. */
  readonly note_key_id: string;
  readonly artifacts: ArtifactSet;
  /** Of a circuit from outside: the files that were announced, by the name of their upload. */
  readonly import?: {
    readonly files: Readonly<Partial<Record<string, { readonly sha256: string | null }>>>;
    /** ISO 8601; without all files by then, the prover fails. */
    readonly expires_at: string;
    /** SHA-256 of the reference string from which the key must follow; absent for any or none. */
    readonly reference_string?: string;
  };
  /** Of the compiled circuit; see CompiledCircuit. */
  readonly value_count?: number;
  /** Where phase 1 of a Groth16 key is taken from: a published string's SHA-256, or the best one. */
  readonly phase1?: string;
  /** Set on provers whose keys come from a ceremony. */
  readonly has_ceremony?: boolean;
  /** Set on provers that are provisioned only when their analysis accuses no output. */
  readonly is_strict?: boolean;
  /** Set on provers that neither take keys of another prover of the circuit nor give theirs. */
  readonly has_own_keys?: boolean;
  /** Verifier contracts that are deployed before the prover is provisioned. */
  readonly plans?: readonly StoredPlan[];
  /** Those on which it waits now, by their ids. */
  readonly deploying?: readonly string[];
  /** Set once the keys among `artifacts` have passed all setup gates. */
  readonly gates_passed: boolean;
}

/**
 * Provers that were made before the compiler had options lack them, those before universal setups their setup,
 * those before the compiler was recorded both it and the hash of their source, and those before nullifiers theirs.
 */
export type StoredProver = Omit<
  Prover,
  | "options"
  | "setup"
  | "analysis"
  | "strict"
  | "compiler"
  | "source_hash"
  | "tags"
  | "pending_tags"
  | "meta"
  | "nullifier"
  | "estimated_ms"
> & {
  readonly options?: Prover["options"];
  readonly setup?: Prover["setup"];
  readonly compiler?: Prover["compiler"];
  readonly nullifier?: Prover["nullifier"];
  readonly source_hash?: Prover["source_hash"];
  readonly build: ProverBuild;
};
/** A structured reference string that the server keeps. */
export type KeptReferenceString = UniversalSetup & {
  readonly curve: CurveName;
  readonly bytes: number;
  readonly created_at: string;
  /** Set on files without Lagrange points, which are made of the powers each time that they are needed. */
  readonly is_plain?: boolean;
};

/** Proofs that were made before they could have free data lack it. */
type StoredProof = Omit<ProofRecord, "meta"> & Partial<Pick<ProofRecord, "meta">> & { readonly owner: Subject };

/**
 * Who shares a compiled circuit: everyone for built-in ones, the owner for others. Were all shared, the time until a
 * source is `compiled` would tell one tenant what another has registered.
 */
type CircuitScope = Subject | "built_in";

/** One page of a list, as the handlers return it; the total is over all pages. */
export interface Listed<T> {
  readonly body: T[];
  readonly total: number;
}

const FILTER_MEMBERS = ["curve", "identifier", "provider", "proving_scheme", "status", "name"] as const;
const DEFAULT_OPTIONS = { optimization: 2, rounds: null } as const satisfies Prover["options"];
const PROOF_FILTER_MEMBERS = ["hash", "statement_hash", "origin"] as const;
const TABLES = {
  prover: "prover",
  proof: "proof",
  circuit: "circuit",
  analysis: "prover_analysis",
  circuitAnalysis: "circuit_analysis",
  artifactUse: "artifact_use",
  referenceString: "reference_string",
} as const;
/** Keeps the entries of an analysis apart from those of its prover, which may name the same file. */
const ANALYSIS_USE = "analysis";

export class ProverRepository {
  readonly labels: ProverLabels;
  readonly grants: GrantRecords;
  readonly verifiers: VerifierRecords;
  readonly #store: Store;
  readonly #pace: Pick<ProofPace, "estimateMs"> | undefined;
  readonly #provers: Table<StoredProver, "owner" | "pending" | "waiting" | "circuit" | "exported", never>;
  readonly #proofs: Table<StoredProof, "prover", never>;
  readonly #analyses: Table<StoredAnalysis, never, never>;

  /** @param dependencies.pace of proofs on this server; unknown unless given */
  constructor(dependencies: { readonly store: Store; readonly pace?: Pick<ProofPace, "estimateMs"> }) {
    this.#store = dependencies.store;
    this.#pace = dependencies.pace;
    this.labels = new ProverLabels(dependencies);
    this.grants = new GrantRecords(dependencies);
    this.verifiers = new VerifierRecords(dependencies);
    this.#provers = defineTable<StoredProver, "owner" | "pending" | "waiting" | "circuit" | "exported">(
      {
        name: TABLES.prover,
        key: (prover) => proverKey(prover.build.owner, prover.id),
        indexes: {
          owner: (prover) => ownerKey(prover.build.owner),
          pending: (prover) =>
            isFinished(prover.status) || isWaitingForFiles(prover) || isInCeremony(prover)
              ? undefined
              : ownerKey(prover.build.owner),
          waiting: (prover) => (isWaitingForFiles(prover) ? ownerKey(prover.build.owner) : undefined),
          circuit: (prover) => [...ownerKey(prover.build.owner), prover.build.circuit_hash],
          exported: ({ build }) =>
            build.artifacts["proving_key.zkey"] === undefined ? undefined : ownerKey(build.owner),
        },
      },
      dependencies,
    );
    this.#proofs = defineTable<StoredProof, "prover">(
      {
        name: TABLES.proof,
        key: (proof) => [...proverKey(proof.owner, proof.prover_id), proof.id],
        indexes: { prover: (proof) => proverKey(proof.owner, proof.prover_id) },
      },
      dependencies,
    );
    this.#analyses = defineTable<StoredAnalysis>(
      { name: TABLES.analysis, key: ({ owner, prover_id }) => proverKey(owner, prover_id), indexes: {} },
      dependencies,
    );
  }

  /** Finds a prover of the owner. */
  find(owner: Subject, id: string): StoreRecord<StoredProver> | undefined {
    return this.#provers.get(proverKey(owner, id));
  }

  /** Returns whether any owner has a prover. */
  hasAny(): boolean {
    return this.#store.range([TABLES.prover], { limit: 1 }).length > 0;
  }

  /** Returns some provers of all owners, at most so many. */
  someOfAll(countMax: number): StoredProver[] {
    return this.#store.range<StoredProver>([TABLES.prover], { limit: countMax }).map(({ value }) => value);
  }

  /** Lists one page of the owner's provers, oldest first; filters compare for equality. */
  list(owner: Subject, filters: ProverFilters, page: Page): Listed<Prover> {
    const members = FILTER_MEMBERS.filter((member) => filters[member] !== undefined);
    const isWanted = (prover: StoredProver): boolean =>
      members.every((member) => filters[member] === prover[member]) && this.labels.matches(prover, filters);
    const isFiltered = members.length > 0 || filters.tag !== undefined || filters.meta !== undefined;
    const { rows, total } = this.#provers.list("owner", ownerKey(owner), {
      page,
      ...(isFiltered ? { filter: isWanted } : {}),
    });
    return { body: rows.map((prover) => this.onWire(prover)), total };
  }

  /** Returns the members of a prover that clients see. */
  onWire(stored: StoredProver): Prover {
    const { build, ...prover } = stored;
    return {
      ...prover,
      ...this.labels.onWire(stored),
      options: prover.options === undefined ? DEFAULT_OPTIONS : prover.options,
      setup: prover.setup ?? null,
      compiler: prover.compiler ?? null,
      nullifier: prover.nullifier ?? null,
      source_hash: prover.source_hash ?? null,
      strict: build.is_strict ?? false,
      estimated_ms: this.#pace?.estimateMs(stored) ?? null,
      analysis: analysisOnWire(this.findAnalysis(build.owner, prover.id)?.value),
    };
  }

  /** Finds the analysis of a prover. */
  findAnalysis(owner: Subject, proverId: string): StoreRecord<StoredAnalysis> | undefined {
    return this.#analyses.get(proverKey(owner, proverId));
  }

  /** Prepares a new analysis. */
  insertAnalysis(analysis: StoredAnalysis): StoreCommit {
    return this.#analyses.insertCommit(analysis);
  }

  /** Prepares a change of an analysis; it conflicts when the record has changed since it was read. */
  updateAnalysis(current: StoreRecord<StoredAnalysis>, next: StoredAnalysis): StoreCommit {
    return mergeCommits(this.#analyses.updateCommit(current, next), { puts: analysisUses(next) });
  }

  /** Finds the result of analysing a circuit. */
  findCircuitAnalysis(scope: CircuitScope, hash: string): AnalysisResult | undefined {
    return this.#store.get<AnalysisResult>(circuitKey(scope, hash, TABLES.circuitAnalysis))?.value;
  }

  /** Prepares the result of analysing a circuit. */
  putCircuitAnalysis(scope: CircuitScope, hash: string, result: AnalysisResult): StoreCommit {
    const key = circuitKey(scope, hash, TABLES.circuitAnalysis);
    return { puts: [{ key, value: result }, ...recordUses(key, result.artifacts)] };
  }

  /** Returns the owner's latest provers of a circuit, the latest first. */
  latestOfCircuit(owner: Subject, circuitHash: string, countMax: number): StoredProver[] {
    const page = { page: 1, rpp: countMax };
    return this.#provers.list("circuit", [...ownerKey(owner), circuitHash], { page, reverse: true }).rows;
  }

  /** Returns the provers of an owner whose key was made as snarkjs' file on demand, oldest prover first. */
  exported(owner: Subject): StoreRecord<StoredProver>[] {
    return this.#provers.records("exported", ownerKey(owner));
  }

  /** Counts the provers of an owner, or of all owners, that are in provisioning. */
  countPending(owner?: Subject): number {
    return this.#provers.count("pending", owner === undefined ? [] : ownerKey(owner));
  }

  /** Counts the imports of an owner that wait for files. */
  countWaitingImports(owner: Subject): number {
    return this.#provers.count("waiting", ownerKey(owner));
  }

  /** Returns the imports of an owner, or of all owners, that wait for files. */
  waitingImports(owner?: Subject): StoreRecord<StoredProver>[] {
    return this.#provers.records("waiting", owner === undefined ? [] : ownerKey(owner));
  }

  /** Returns the imports of an owner that are not finished, whether they wait for files or not. */
  unfinishedImports(owner: Subject): StoreRecord<StoredProver>[] {
    const pending = this.#provers.records("pending", ownerKey(owner));
    return [...this.waitingImports(owner), ...pending.filter(({ value }) => value.build.import !== undefined)];
  }

  /** Prepares a new prover. */
  insert(prover: StoredProver): StoreCommit {
    return mergeCommits(this.#provers.insertCommit(prover), { puts: this.#artifactUses(prover) });
  }

  /** Prepares a change of a prover; it conflicts when the record has changed since it was read. */
  update(current: StoreRecord<StoredProver>, next: StoredProver): StoreCommit {
    const puts = this.#artifactUses(next);
    const kept = new Set(puts.map(({ key }) => key.join("/")));
    const before = this.#artifactUses(current.value).map(({ key }) => key);
    const deletes = before.filter((key) => !kept.has(key.join("/")));
    return mergeCommits(this.#provers.updateCommit(current, next), { puts, deletes });
  }

  /**
   * Prepares the deletion of a prover with its labels, its grants and the records of its verifiers, and with the
   * owner's compiled circuit when no other of its provers uses it. The stores are deleted by
   * `ProofStores.prepareRelease`, the proof records by `ProofRemovals.prepareDeletion`.
   */
  deletion(record: StoreRecord<StoredProver>): StoreCommit {
    const { id, build } = record.value;
    const scope = scopeOf(record.value);
    const isLast =
      scope !== "built_in" && this.#provers.count("circuit", [...ownerKey(build.owner), build.circuit_hash]) <= 1;
    const analysis = this.findAnalysis(build.owner, id);
    return mergeCommits(
      this.#provers.deleteCommit(record),
      analysis === undefined ? {} : this.#analyses.deleteCommit(analysis),
      this.labels.deletion(record.value),
      this.grants.deletionOfProver(build.owner, id),
      this.verifiers.deletionOfProver(build.owner, id),
      paceDeletion(record.value),
      {
        deletes: [
          ...(analysis === undefined ? [] : analysisUses(analysis.value).map((put) => put.key)),
          ...this.#artifactUses(record.value).map((put) => put.key),
          ...(isLast ? this.#circuitKeys(scope, build.circuit_hash) : []),
        ],
      },
    );
  }

  /** Finds the record of a proof. */
  findProof(owner: Subject, proverId: string, proofId: string): ProofRecord | undefined {
    const found = this.#proofs.get([...proverKey(owner, proverId), proofId]);
    return found === undefined ? undefined : proofOnWire(found.value);
  }

  /** Lists one page of a subject's proof records of a prover, oldest first; filters compare for equality. */
  listProofs(owner: Subject, proverId: string, query: ProofFilters & Page): Listed<ProofRecord> {
    const members = PROOF_FILTER_MEMBERS.filter((member) => query[member] !== undefined);
    const isWanted = (proof: StoredProof): boolean =>
      members.every((member) => query[member] === proof[member]) && hasMeta(proof.meta ?? {}, query.meta);
    const { rows, total } = this.#proofs.list("prover", proverKey(owner, proverId), {
      page: query,
      ...(members.length > 0 || query.meta !== undefined ? { filter: isWanted } : {}),
    });
    return { body: rows.map(proofOnWire), total };
  }

  /** Prepares a new proof record. */
  insertProof(owner: Subject, proof: ProofRecord): StoreCommit {
    return this.#proofs.insertCommit({ ...proof, owner });
  }

  /**
   * Finds a compiled circuit.
   * @param hash `circuitHash` of its source
   */
  findCircuit(scope: CircuitScope, hash: string): CompiledCircuit | undefined {
    return this.#store.get<CompiledCircuit>(circuitKey(scope, hash))?.value;
  }

  /** Prepares the record of a compiled circuit. */
  putCircuit(scope: CircuitScope, hash: string, circuit: CompiledCircuit): StoreCommit {
    const key = circuitKey(scope, hash);
    return { puts: [{ key, value: circuit }, ...recordUses(key, circuit.artifacts)] };
  }

  /** Returns the reference strings of a curve. */
  referenceStrings(curve: CurveName): KeptReferenceString[] {
    return this.#store.range<KeptReferenceString>([TABLES.referenceString, curve]).map(({ value }) => value);
  }

  /** Prepares the record of a reference string. */
  putReferenceString(string: KeptReferenceString): StoreCommit {
    return { puts: [{ key: [TABLES.referenceString, string.curve, string.sha256], value: string }] };
  }

  /** Prepares the removal of a reference string's record. */
  deleteReferenceString({ curve, sha256 }: Pick<KeptReferenceString, "curve" | "sha256">): StoreCommit {
    return { deletes: [[TABLES.referenceString, curve, sha256]] };
  }

  /** Returns whether a prover of any owner, or a circuit that its provers share, uses the file. */
  isArtifactUsed(sha256: string): boolean {
    return this.#store.range([TABLES.artifactUse, sha256], { limit: 1 }).length > 0;
  }

  /** Returns whether a prover of the owner uses the file. */
  hasArtifact(owner: Subject, sha256: string): boolean {
    return this.#store.range([TABLES.artifactUse, sha256, ...ownerKey(owner)], { limit: 1 }).length > 0;
  }

  /** Returns whether a prover, a circuit that provers share, or the server itself needs the file. */
  needsFile(sha256: string): boolean {
    return this.isArtifactUsed(sha256) || this.#isOfBuiltIn(sha256) || this.#isReferenceString(sha256);
  }

  /** Returns whether a built-in circuit refers to the file: those stay compiled when no prover has them. */
  #isOfBuiltIn(sha256: string): boolean {
    return [TABLES.circuit, TABLES.circuitAnalysis].some((table) =>
      this.#store
        .range<Pick<CompiledCircuit | AnalysisResult, "artifacts">>([table, "built_in"])
        .some(({ value }) => Object.values(value.artifacts).some((artifact) => artifact.sha256 === sha256)),
    );
  }

  /** Returns whether the file is a reference string, which stays when no prover has keys of it. */
  #isReferenceString(sha256: string): boolean {
    return this.#store.range([TABLES.referenceString]).some(({ key }) => key[2] === sha256);
  }

  /** What is stored of a circuit and of its analysis. */
  #circuitKeys(scope: CircuitScope, hash: string): StoreKey[] {
    return [TABLES.circuit, TABLES.circuitAnalysis].flatMap((table) => {
      const key = circuitKey(scope, hash, table);
      const artifacts = this.#store.get<Pick<CompiledCircuit | AnalysisResult, "artifacts">>(key)?.value.artifacts;
      return [key, ...recordUses(key, artifacts ?? {}).map((put) => put.key)];
    });
  }

  /** One entry per file, though two names may have the same content. */
  #artifactUses({ id, build }: StoredProver): StorePut[] {
    const hashes = new Set(Object.values(build.artifacts).map(({ sha256 }) => sha256));
    return [...hashes].map((sha256) => ({
      key: [TABLES.artifactUse, sha256, ...proverKey(build.owner, id)],
      value: true,
    }));
  }
}

/** Returns who shares the prover's compiled circuit. */
export function scopeOf(prover: Pick<StoredProver, "build">): CircuitScope {
  return prover.build.is_built_in ? "built_in" : prover.build.owner;
}

function proofOnWire({ owner: _owner, ...proof }: StoredProof): ProofRecord {
  return { ...proof, meta: proof.meta ?? {} };
}

function proverKey(owner: Subject, id: string): StoreKey {
  return [...ownerKey(owner), id];
}

function analysisOnWire(analysis: StoredAnalysis | undefined): ProverAnalysis | null {
  if (analysis === undefined) return null;
  const { state, verdict, reason, analyzed_at } = analysis;
  return { state, verdict, reason, analyzed_at };
}

/** One entry per file of an analysis. */
function analysisUses({ owner, prover_id, artifacts }: StoredAnalysis): StorePut[] {
  const hashes = new Set(Object.values(artifacts).map(({ sha256 }) => sha256));
  return [...hashes].map((sha256) => ({
    key: [TABLES.artifactUse, sha256, ...proverKey(owner, prover_id), ANALYSIS_USE],
    value: true,
  }));
}

/** One entry per file of a record that provers share, which keeps its files when a prover goes. */
function recordUses(
  record: StoreKey,
  artifacts: Readonly<Partial<Record<string, { readonly sha256: string }>>>,
): StorePut[] {
  const hashes = new Set(Object.values(artifacts).flatMap((artifact) => artifact?.sha256 ?? []));
  return [...hashes].map((sha256) => ({ key: [TABLES.artifactUse, sha256, ...record], value: true }));
}

function circuitKey(scope: CircuitScope, hash: string, table: string = TABLES.circuit): StoreKey {
  return [table, ...(scope === "built_in" ? [scope, ""] : ownerKey(scope)), hash];
}

/** Returns the hashes of all files that a prover, a compiled circuit or a reference string refers to. */
export function artifactsNamedIn(store: Pick<Store, "range">): Set<string> {
  const used = store.range([TABLES.artifactUse]).map(({ key }) => String(key[1]));
  const compiled = store
    .range<CompiledCircuit>([TABLES.circuit])
    .flatMap(({ value }) => Object.values(value.artifacts).map(({ sha256 }) => sha256));
  const analyzed = store
    .range<AnalysisResult>([TABLES.circuitAnalysis])
    .flatMap(({ value }) => Object.values(value.artifacts).map(({ sha256 }) => sha256));
  const strings = store.range([TABLES.referenceString]).map(({ key }) => String(key[2]));
  return new Set([...used, ...compiled, ...analyzed, ...strings]);
}

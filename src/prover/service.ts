/**
 * The operations of the prover registry, for one owner at a time. Connects the parts (sources, stores, vault, durable
 * jobs, proofs) and enforces limits and permissions; computes nothing and knows no HTTP.
 */
import type { VerifyValue } from "../engine/protocol.js";
import { AppError, invalidMember, notFound } from "../platform/errors.js";
import { PERMISSIONS, holdsAll } from "../platform/auth/permissions.js";
import type { Principal, Subject } from "../platform/auth/principal.js";
import { requireSaidOwner, type RequireTenant } from "../platform/auth/said-owner.js";
import { isoTimestamp, type Clock } from "../platform/clock.js";
import type { FileAnswer } from "../platform/contract/route.js";
import type { StreamedBody } from "../platform/contract/streamed-body.js";
import type { ClosedRequest } from "./closed-inputs/closed-inputs.js";
import { newId } from "../platform/ids.js";
import type { Artifacts } from "../platform/store/artifacts.js";
import { StoreConflict, type Store, type StoreCommit, type StoreRecord } from "../platform/store/store.js";
import { mergeCommits, type Page } from "../platform/store/tables.js";
import { withPhase1 } from "./ceremonies/ceremony-settings.js";
import type { NewCeremonies } from "./ceremonies/new-ceremonies.js";
import { DEFAULT_PROVIDER, type Catalog } from "./catalog.js";
import { bringsKey, type CircuitOrigins } from "./circuit-origins.js";
import { isWaitingForFiles } from "./imports/import-files.js";
import type { Imports } from "./imports/imports.js";
import { givenLabels, type GivenLabels } from "./labels/labels.js";
import { isFinished, stepOf } from "./provisioning/lifecycle.js";
import { readAnalysis } from "./analysis/analyses.js";
import type { CircuitAnalysis } from "./analysis/analysis-schemas.js";
import type { OnChainVerification } from "./on-chain/on-chain-verification.js";
import type { StoredPlan } from "./on-chain/verifier-records.js";
import type { OnChainAnswer } from "./on-chain/verifier-schemas.js";
import type { Verifiers } from "./on-chain/verifiers.js";
import type { AgreeingContract, Attestation } from "./proofs/attestation.js";
import { verifyBatchRequest, type BatchRequest } from "./proofs/batch-request.js";
import type { Proofs } from "./proofs/proofs.js";
import type { ProofRemovals } from "./proofs/proof-removals.js";
import { placeOf, withCompiled } from "./provisioning/prover-steps.js";
import { scopeOf, type AnalysisResult, type Listed, type ProverRepository, type StoredProver } from "./repository.js";
import {
  type CreateProver,
  type Note,
  type ProofFilters,
  type ProofRecord,
  type ProveResult,
  type Prover,
  type ProverArtifact,
  type ProverFilters,
  type ProverProgress,
  type SaidProver,
  type VerifyResult,
} from "./schemas.js";
import { SETUP_ARTIFACTS, type ProverFiles } from "./prover-files.js";
import { requireSaidPlace, requireSaidProver } from "./said-prover.js";
import type { Places } from "./sharing/places.js";
import type { ProverAccess } from "./sharing/prover-access.js";
import type { OfferedSystem } from "./providers/provider.js";
import type { ReferenceStrings } from "./provisioning/reference-strings.js";
import type { SourceFiles } from "./provisioning/source-files.js";
import type { ProvisioningProgress } from "./provisioning/provisioning-progress.js";
import type { StatusWatch } from "./provisioning/status-watch.js";
import type { ProofStores, WantedStores } from "./stores/proof-stores.js";
import type { SpendRequest } from "./stores/spending.js";
import type { ProverVault } from "./vault-port.js";
import type { Meta } from "./labels/label-schemas.js";

interface ProverServiceOptions {
  /** Provers of one owner that may be in provisioning; one more is `too_many_requests`. */
  readonly pendingPerOwnerMax: number;
  /** Provers of all owners that may be in provisioning; one more is `overloaded`. */
  readonly pendingMax: number;
  /** Longest wait of a create with `Prefer: wait`, in seconds. */
  readonly waitSecMax: number;
}

/** The durable queue of provisioning jobs. */
export interface ProvisioningQueue {
  /** Prepares the job that provisions a prover; the caller merges the commit into its own. */
  prepare(owner: Subject, proverId: string): StoreCommit;
  /** Starts queued jobs now. */
  wake(): void;
  /** Ends and deletes the job of a prover, if it has one. */
  cancel(proverId: string): Promise<void>;
}

/** The durable queue of analyses. */
export interface AnalysisQueue {
  /** Prepares the record and the job of an analysis. */
  prepare(owner: Subject, proverId: string): StoreCommit;
  /** Ends and deletes a job, if it exists. */
  cancel(jobId: string): Promise<void>;
}

interface ProverServiceDependencies {
  readonly store: Store;
  readonly repository: ProverRepository;
  readonly catalog: Catalog;
  readonly origins: CircuitOrigins;
  readonly artifacts: Artifacts;
  readonly vault: ProverVault;
  readonly stores: ProofStores;
  readonly proofs: Proofs;
  readonly proofRemovals: Pick<ProofRemovals, "prepareDeletion" | "wake">;
  readonly access: ProverAccess;
  readonly places: Places;
  readonly watch: StatusWatch;
  readonly progress: ProvisioningProgress;
  readonly clock: Clock;
  readonly requireTenant: RequireTenant;
  readonly queue: ProvisioningQueue;
  /** Absent when the server analyses no circuits. */
  readonly analyses: AnalysisQueue | undefined;
  readonly files: SourceFiles;
  readonly imports: Imports;
  readonly strings: Pick<ReferenceStrings, "requirePhase1" | "requireSource">;
  readonly ceremonies: NewCeremonies;
  readonly downloads: ProverFiles;
  readonly verifiers: Verifiers;
  readonly onChain: OnChainVerification;
}

/** What is to be verified; the rights to spend are those of the caller. */
type VerifyRequest = Omit<Parameters<Proofs["verify"]>[2], "spend"> & {
  readonly spend?: Pick<SpendRequest, "onSpent">;
};

/** A prover before its stores are known. */
type NewProver = Omit<StoredProver, "created_at" | "updated_at" | "note_store_id" | "nullifier_store_id">;

/** Another request may change a store at the same time (a proof appends to it); a few tries are enough. */
const CREATE_TRIES_MAX = 8;
/** What every prover has before its provisioning begins. */
const NEW_PROVER = {
  proving_key_id: null,
  verifying_key_id: null,
  setup: null,
  status: "init",
  errors: [],
  warnings: [],
} as const satisfies Partial<StoredProver>;
const NAME_LENGTH_MAX = 200;
const PENDING_RETRY_SEC = 10;

/** What is stored with a new prover: what `planVerifiers` returned, and what `keep` returns of its first form. */
interface Along {
  readonly plans?: readonly StoredPlan[];
  readonly keep?: ((prover: Prover) => StoreCommit) | undefined;
}

export class ProverService {
  readonly #options: ProverServiceOptions;
  readonly #with: ProverServiceDependencies;

  constructor(options: ProverServiceOptions, dependencies: ProverServiceDependencies) {
    this.#options = options;
    this.#with = dependencies;
  }

  /** Returns one page, oldest first. Filters accept the same spellings as create. */
  list(owner: Subject, query: ProverFilters & Page): Listed<Prover> {
    const { catalog, repository } = this.#with;
    const filters: ProverFilters = {
      ...(query.curve === undefined ? {} : { curve: catalog.canonicalCurve(query.curve) }),
      ...(query.identifier === undefined ? {} : { identifier: query.identifier.trim().toLowerCase() }),
      ...(query.provider === undefined ? {} : { provider: catalog.canonicalProvider(query.provider) }),
      ...(query.proving_scheme === undefined ? {} : { proving_scheme: catalog.canonicalScheme(query.proving_scheme) }),
      ...(query.status === undefined ? {} : { status: query.status }),
      ...(query.name === undefined ? {} : { name: query.name }),
      ...(query.tag === undefined ? {} : { tag: query.tag }),
      ...(query.meta === undefined ? {} : { meta: query.meta }),
    };
    return repository.list(owner, filters, query);
  }

  /**
   * Registers a prover: one commit writes it, its vault with a key for notes, its stores and its job. Returns the new
   * prover, or, with `waitSec`, the prover after provisioning or when the time is up.
   * @throws AppError `prover_unsupported`, `identifier_unknown`, `source_invalid`, `store_unsuitable`,
   *   `too_many_requests`, `overloaded`, and what vault and store throw
   */
  async create(
    owner: Subject,
    request: CreateProver,
    wait: { readonly waitSec: number; readonly signal: AbortSignal } & Along,
  ): Promise<Prover> {
    const prover = await this.#register(owner, request, wait);
    this.#with.queue.wake();
    const isDone = (): boolean => {
      const found = this.#with.repository.find(owner, prover.id);
      return found === undefined || isFinished(found.value.status);
    };
    const waitMs = Math.min(wait.waitSec, this.#options.waitSecMax) * 1000;
    if (waitMs <= 0) return prover;
    await this.#with.watch.waitUntil(prover.id, isDone, { waitMs, signal: wait.signal });
    const found = this.#with.repository.find(owner, prover.id);
    return found === undefined ? prover : this.#with.repository.onWire(found.value);
  }

  /** Checks the verifier contracts that a prover is to be created with; see `Verifiers.plan`. */
  planVerifiers(principal: Principal, request: CreateProver): StoredPlan[] {
    const { catalog, verifiers } = this.#with;
    if ((request.verifiers ?? []).length === 0) return [];
    const { system } = catalog.resolve({ ...request, provider: request.provider ?? DEFAULT_PROVIDER });
    return verifiers.plan(principal, request.verifiers ?? [], system);
  }

  /** @throws AppError `not_found`, as every method that takes an id */
  get(owner: Subject, id: string): Prover {
    return this.#with.repository.onWire(this.#find(owner, id).value);
  }

  /** Returns the progress of provisioning. */
  progress(owner: Subject, id: string): ProverProgress {
    const prover = this.#find(owner, id).value;
    const { status, errors } = prover;
    const place = placeOf(prover, this.#with.catalog.systemOf(prover));
    const { progress, remainingMs } = this.#with.progress.of(id, place);
    const isFinal = isFinished(status);
    const step = stepOf(place);
    return { id, status, finished: isFinal, progress, remaining_ms: isFinal ? 0 : remainingMs, step, errors };
  }

  /**
   * Deletes the prover with its vault, its proof records and the stores that only it uses; a running job is cancelled.
   * @throws AppError `prover_busy` when the prover keeps changing
   */
  async delete(owner: Subject, id: string): Promise<void> {
    for (let tries = 0; tries < CREATE_TRIES_MAX; tries += 1) {
      const record = this.#find(owner, id);
      const { vault_id, note_store_id, nullifier_store_id } = record.value;
      const analysis = this.#with.repository.findAnalysis(owner, id)?.value;
      const verifiers = this.#with.verifiers.ofProver(owner, id);
      const shared = this.#with.repository.findCircuitAnalysis(scopeOf(record.value), record.value.build.circuit_hash);
      const ceremony = this.#with.ceremonies.deletion(owner, id);
      try {
        await this.#with.store.commit(
          mergeCommits(
            this.#with.repository.deletion(record),
            this.#with.proofRemovals.prepareDeletion(owner, id),
            ceremony.commit,
            this.#with.vault.prepareDeletion(owner, vault_id),
            this.#with.stores.prepareRelease(owner, id, [note_store_id, nullifier_store_id]),
          ),
        );
      } catch (error) {
        if (error instanceof StoreConflict) continue;
        throw error;
      }
      this.#with.watch.notify(id);
      await this.#with.queue.cancel(id);
      await this.#with.ceremonies.cancel(owner, id);
      if (analysis !== undefined) await this.#with.analyses?.cancel(analysis.id);
      await this.#with.verifiers.cancel(verifiers);
      await this.#with.vault.forget(vault_id);
      this.#with.stores.wakeRemovals();
      this.#with.proofRemovals.wake();
      if (record.value.build.import !== undefined) await this.#with.imports.discard(owner, id);
      await this.#removeFiles(record.value, { ...shared?.artifacts }, { ...analysis?.artifacts });
      for (const sha256 of ceremony.files) await this.#with.files.removeUnused(sha256);
      return;
    }
    throw new AppError("prover_busy", { message: "the prover is in use; try again" });
  }

  /** Returns how many outputs and inputs the prover's circuit has, and the bytes of its R1CS; 0 while not known. */
  sizeOf(caller: Subject, id: string): readonly [valueCount: number, r1csBytes: number] {
    const build = this.#with.access.find(caller, id, "verify")?.build;
    return [build?.value_count ?? 0, build?.artifacts["circuit.r1cs"]?.bytes ?? 0];
  }

  /**
   * Checks what a request says of its prover and of its owner.
   * @throws AppError `invalid_request` for what contradicts the prover, `not_found` for what the caller does not have
   */
  requireSaid(principal: Principal, id: string, said: SaidProver): void {
    const { prover, isOwner } = this.#with.access.require(principal.subject, id, "verify");
    requireSaidOwner(principal, said, this.#with.requireTenant);
    const place = this.#with.places.find(principal.subject, id)?.value;
    requireSaidProver(isOwner ? said : requireSaidPlace(said, place), this.#with.repository.onWire(prover), {
      catalog: this.#with.catalog,
      hasStore: (storeId) => this.#with.stores.read(principal.subject, storeId) !== undefined,
    });
  }

  /** Makes a proof of a witness in a file; see `Proofs.proveFile`. */
  async proveFile(...asked: Parameters<Proofs["proveFile"]>): Promise<ProveResult> {
    return await this.#with.proofs.proveFile(...asked);
  }

  /** Makes a proof; see `Proofs.prove`. */
  async prove(
    owner: Subject,
    id: string,
    request: {
      readonly inputs: unknown;
      readonly witnessFile?: Uint8Array;
      readonly closed?: ClosedRequest | undefined;
      readonly meta?: Meta;
      readonly format?: "snarkjs" | "solidity" | undefined;
      readonly signal: AbortSignal;
      readonly attest?: Attestation;
      readonly spend?: SpendRequest;
    },
  ): Promise<ProveResult> {
    return await this.#with.proofs.prove(owner, id, request);
  }

  /**
   * Verifies a proof; see `Proofs.verify`.
   * @throws AppError `forbidden` for `store`, and for what spends, without the permission to create
   */
  async verify(principal: Principal, id: string, request: VerifyRequest): Promise<boolean> {
    const mayCreate = holdsAll(principal.permissions, PERMISSIONS.create);
    if (request.store && !mayCreate)
      throw new AppError("forbidden", { message: "storing a proof needs the permission create" });
    return await this.#with.proofs.verify(principal.subject, id, {
      ...request,
      spend: { mayCreate, ...request.spend },
    });
  }

  /**
   * Does the same and asks a verifier contract as well, before anything is stored.
   * @param request.networkId whose verifier is asked; the only one of the prover unless given
   * @throws AppError as `OnChainVerification.choose` and `agree`
   */
  async verifyOnChain(
    principal: Principal,
    id: string,
    { networkId, ...request }: VerifyRequest & { readonly networkId: string | undefined },
  ): Promise<VerifyResult> {
    const { onChain } = this.#with;
    const verifier = onChain.choose(principal.subject, id, networkId);
    const said: OnChainAnswer[] = [];
    const confirm = async (checked: VerifyValue): Promise<AgreeingContract> => {
      said.push(await onChain.agree(verifier, checked, request.signal));
      return onChain.contractOf(verifier);
    };
    const result = await this.verify(principal, id, { ...request, confirm });
    return { result, ...(said[0] === undefined ? {} : { on_chain: said[0] }) };
  }

  /** See `verifyBatchRequest`. */
  async verifyBatch(owner: Subject, id: string, request: BatchRequest): Promise<VerifyResult> {
    return await verifyBatchRequest(this.#with.proofs, { caller: owner, id }, request);
  }

  /** See `ProverFiles.get`. */
  async artifact(caller: Subject, id: string, name: string, signal?: AbortSignal): Promise<FileAnswer> {
    const asker = { subject: caller, ...(signal === undefined ? {} : { signal }) };
    return await this.#with.downloads.get(asker, id, name);
  }

  /** See `ProverFiles.source`. */
  async source(owner: Subject, id: string): Promise<FileAnswer> {
    return await this.#with.downloads.source(owner, id);
  }

  /** See `ProverFiles.sourceArchive`. */
  async sourceArchive(owner: Subject, id: string): Promise<Uint8Array> {
    return await this.#with.downloads.sourceArchive(owner, id);
  }

  /** See `ProverFiles.list`. */
  async artifacts(caller: Subject, id: string): Promise<ProverArtifact[]> {
    return await this.#with.downloads.list(caller, id);
  }

  /** Returns the analysis of the prover's circuit; see `readAnalysis`. */
  async analysis(owner: Subject, id: string): Promise<CircuitAnalysis> {
    this.#find(owner, id);
    return await readAnalysis({ owner, proverId: id }, this.#with);
  }

  /** Takes a file of an import, or a part of it; see `Imports.take`. */
  async upload(
    owner: Subject,
    id: string,
    { name, body }: { readonly name: string; readonly body: StreamedBody },
  ): Promise<ProverArtifact> {
    return await this.#with.imports.take(owner, id, name, body);
  }

  /** Returns one page of the caller's proof records of a prover, oldest first; filters compare for equality. */
  listProofs(caller: Subject, id: string, query: ProofFilters & Page): Listed<ProofRecord> {
    return this.#hasRecords(caller, id) ? this.#with.repository.listProofs(caller, id, query) : { body: [], total: 0 };
  }

  /** @throws AppError `not_found` when the prover or the record does not exist */
  getProof(caller: Subject, id: string, proofId: string): ProofRecord {
    const found = this.#hasRecords(caller, id) ? this.#with.repository.findProof(caller, id, proofId) : undefined;
    if (found === undefined) throw notFound("proof");
    return found;
  }

  /** Returns a note, decrypted; see `Proofs.note`. */
  async note(owner: Subject, id: string, index: number): Promise<Note> {
    return await this.#with.proofs.note(owner, id, index);
  }

  async #register(owner: Subject, given: CreateProver, { plans = [], keep }: Along): Promise<Prover> {
    const request = withPhase1(given);
    const triple = this.#with.catalog.resolve({ ...request, provider: request.provider ?? DEFAULT_PROVIDER });
    const { provider, proving_scheme, curve, trusted_setup, system } = triple;
    const ceremony = this.#with.ceremonies.settings(owner, request, system);
    const phase1 = request.phase1 ?? undefined;
    requireStrings(this.#with.strings, { request, system });
    const isStrict = this.#isStrict(request, triple);
    const id = newId();
    const origin = this.#with.origins.of(owner, id, { request, system: triple });
    this.#requireRoom(owner);
    const name = request.name ?? origin.prover.identifier;
    const labels = givenLabels(request, name);
    const notes = request.note_store_id ?? request.store_id ?? undefined;
    if (typeof request.store_id === "string" && request.store_id !== notes)
      throw invalidMember("store_id", "store_id and note_store_id name two stores");
    const stores = {
      proverId: id,
      curve: system.noteCurve,
      notes,
      nullifiers: request.nullifier_store_id ?? undefined,
    };
    // Checked before anything is written; prepared again for each try.
    this.#with.stores.prepare(owner, stores);
    const vault = await this.#with.vault.prepareProverVault(owner, {
      vault: `prover ${name}`.slice(0, NAME_LENGTH_MAX),
      noteKey: "notes",
    });
    const prover = {
      id,
      ...NEW_PROVER,
      vault_id: vault.vaultId,
      name,
      description: request.description ?? null,
      nullifier: request.nullifier ?? null,
      ...{ provider, proving_scheme, curve },
      trusted_setup: ceremony === undefined ? trusted_setup : ("ceremony" as const),
      ...origin.prover,
    };
    const build = {
      owner,
      ...origin.build,
      note_key_id: vault.noteKeyId,
      gates_passed: false,
      ...(isStrict ? { is_strict: true } : {}),
      ...(phase1 === undefined ? {} : { phase1 }),
      ...(request.fresh_setup === true || ceremony !== undefined ? { has_own_keys: true } : {}),
      ...(ceremony === undefined ? {} : { has_ceremony: true }),
      ...(plans.length === 0 ? {} : { plans }),
    };
    return await origin.hold(async (files) =>
      this.#insert({ ...prover, build: { ...build, ...files } }, stores, {
        ...{ labels, keep },
        more: mergeCommits(vault.commit, this.#with.ceremonies.insertion(owner, id, ceremony)),
      }),
    );
  }

  #isStrict({ strict }: CreateProver, triple: ReturnType<Catalog["resolve"]>): boolean {
    if (strict !== true) return false;
    if (this.#with.analyses === undefined) throw invalidMember("strict", "this server analyses no circuits");
    if (!this.#with.catalog.providerOf(triple).isAnalyzed)
      throw invalidMember("strict", `programs of ${triple.provider} are not analysed`);
    return true;
  }

  /**
   * Commits a new prover with its vault, its stores and its job.
   * @param options.more its vault, and its ceremony if it has one
   */
  async #insert(
    prover: NewProver,
    wanted: WantedStores,
    { labels, more, keep }: { readonly labels: GivenLabels; readonly more: StoreCommit } & Along,
  ): Promise<Prover> {
    const { owner } = prover.build;
    for (let tries = 0; tries < CREATE_TRIES_MAX; tries += 1) {
      // Before anything is read: what is read must be as it is when it is committed.
      const isReusable = await this.#keepCircuit(prover);
      const stores = this.#with.stores.prepare(owner, wanted);
      const ids = { note_store_id: stores.noteStoreId, nullifier_store_id: stores.nullifierStoreId };
      const made = { ...prover, ...this.#now(), ...ids };
      const stored = isReusable ? this.#reusingCircuit(made) : made;
      try {
        await this.#with.store.commit(
          mergeCommits(
            this.#with.repository.insert(stored),
            this.#with.repository.labels.insertion(stored, labels),
            more,
            stores.commit,
            isWaitingForFiles(stored) ? {} : this.#firstJob(stored),
            keep?.(this.#with.repository.onWire(stored)) ?? {},
          ),
        );
        return this.#with.repository.onWire(stored);
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error;
      }
    }
    throw new AppError("conflict", { message: "the named stores are busy; try again" });
  }

  /** A strict prover waits for its analysis, which then queues the provisioning. */
  #firstJob({ id, build }: StoredProver): StoreCommit {
    const first = build.is_strict === true ? this.#with.analyses : this.#with.queue;
    return first?.prepare(build.owner, id) ?? {};
  }

  /** Returns whether the files of the circuit, if it was compiled before, are kept until a record names them. */
  async #keepCircuit(prover: Pick<StoredProver, "build">): Promise<boolean> {
    const compiled = this.#with.repository.findCircuit(scopeOf(prover), prover.build.circuit_hash);
    return compiled !== undefined && (await this.#with.files.keepAll(Object.values(compiled.artifacts)));
  }

  /** Reuses the circuit if it was compiled before. */
  #reusingCircuit(prover: StoredProver): StoredProver {
    const compiled = this.#with.repository.findCircuit(scopeOf(prover), prover.build.circuit_hash);
    return compiled === undefined ? prover : { ...withCompiled(prover, compiled), status: "compiled" };
  }

  #now(): { readonly created_at: string; readonly updated_at: string } {
    const now = isoTimestamp(this.#with.clock.nowMs());
    return { created_at: now, updated_at: now };
  }

  #requireRoom(owner: Subject): void {
    if (this.#with.repository.countPending(owner) >= this.#options.pendingPerOwnerMax) {
      throw new AppError("too_many_requests", {
        message: `at most ${String(this.#options.pendingPerOwnerMax)} provers of one owner may be in provisioning; wait until some are provisioned`,
        retryAfterSec: PENDING_RETRY_SEC,
      });
    }
    if (this.#with.repository.countPending() >= this.#options.pendingMax) {
      throw new AppError("overloaded", {
        message: "too many provers are in provisioning; try again later",
        retryAfterSec: PENDING_RETRY_SEC,
      });
    }
  }

  /**
   * Removes the files that nothing else uses: keys, source, those of analyses, and all of an import. A compiled circuit
   * may be shared and stays.
   */
  async #removeFiles({ build }: StoredProver, ...analyzed: readonly AnalysisResult["artifacts"][]): Promise<void> {
    const { artifacts } = build;
    const own =
      build.import === undefined
        ? [...SETUP_ARTIFACTS, "source.json" as const].flatMap((name) => artifacts[name] ?? [])
        : Object.values(artifacts);
    for (const { sha256 } of [...own, ...analyzed.flatMap((files) => Object.values(files))])
      await this.#with.files.removeUnused(sha256);
  }

  /**
   * Returns whether the caller may have proved with the prover. Who has with another's keeps the records when the right
   * has ended; who has given them up finds none, also while they are still being removed.
   * @throws AppError `not_found`, `forbidden` when the caller has neither records nor the right to make some
   */
  #hasRecords(caller: Subject, id: string): boolean {
    return this.#with.places.find(caller, id) !== undefined || this.#with.access.require(caller, id, "prove").isOwner;
  }

  #find(owner: Subject, id: string): StoreRecord<StoredProver> {
    const found = this.#with.repository.find(owner, id);
    if (found === undefined) throw notFound("prover");
    return found;
  }
}

/**
 * Requires the reference strings that a prover's keys will take.
 * @throws AppError `invalid_request` for a phase 1 that cannot be as asked, `prover_unsupported` where no string is
 */
function requireStrings(
  strings: Pick<ReferenceStrings, "requirePhase1" | "requireSource">,
  { request, system }: { readonly request: CreateProver; readonly system: OfferedSystem },
): void {
  const makesKeys = request.import === undefined || request.import === null || !bringsKey(request.import);
  const { setup, stringCurve } = system;
  if (makesKeys && setup === "universal" && stringCurve !== undefined) strings.requireSource(stringCurve);
  const phase1 = request.phase1 ?? undefined;
  if (phase1 === undefined) return;
  if (setup !== "own") throw invalidMember("phase1", `${system.proving_scheme} has no phase 1`);
  if (stringCurve === undefined)
    throw invalidMember(
      "phase1",
      `${system.proving_scheme} over ${system.curve} takes no published powers of tau on this server`,
    );
  if (!makesKeys) throw invalidMember("phase1", "the key that is imported has a phase 1 of its own");
  strings.requirePhase1(stringCurve, phase1);
}

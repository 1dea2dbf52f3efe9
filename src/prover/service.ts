/**
 * The prover registry: what its routes do, for one owner at a time. Puts the parts together (sources, stores, vault,
 * durable jobs, proofs) and decides who may have what; computes nothing and knows no HTTP.
 */
import { AppError } from "../platform/errors.js";
import { PERMISSIONS, holdsAll } from "../platform/auth/permissions.js";
import type { Principal, Subject } from "../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../platform/clock.js";
import type { FileAnswer } from "../platform/contract/route.js";
import { newId } from "../platform/ids.js";
import type { Artifacts } from "../platform/store/artifacts.js";
import { StoreConflict, type Store, type StoreCommit, type StoreRecord } from "../platform/store/store.js";
import { mergeCommits, type Page } from "../platform/store/tables.js";
import { DEFAULT_PROVIDER, type Catalog } from "./catalog.js";
import { isFinished, progressOf, stepOf } from "./provisioning/lifecycle.js";
import type { NoteStores } from "./proofs/note-stores.js";
import type { Proofs } from "./proofs/proofs.js";
import { withCompiled } from "./provisioning/provisioning.js";
import {
  proverOnWire,
  scopeOf,
  type ArtifactName,
  type Listed,
  type ProverRepository,
  type StoredProver,
} from "./repository.js";
import type {
  CreateProver,
  Note,
  ProofRecord,
  ProveResult,
  Prover,
  ProverFilters,
  ProverProgress,
  VerifyBody,
  VerifyResult,
} from "./schemas.js";
import { circuitHash, sourceOf, type BuiltInCircuits } from "./provisioning/sources.js";
import type { StatusWatch } from "./provisioning/status-watch.js";
import type { ProverVault } from "./vault-port.js";

export interface ProverServiceOptions {
  /** Provers of one owner that may be on their way to `provisioned`; one more is 429. */
  readonly pendingPerOwnerMax: number;
  /** Provers of all owners that may be on their way; one more is 503. */
  readonly pendingMax: number;
  /** Longest wait of a create with `Prefer: wait`. */
  readonly waitSecMax: number;
  /** Name of compiler, version and flags: part of what names a compiled circuit. */
  readonly compilerName: string;
}

/** The durable queue, as far as this service needs it. */
export interface ProvisioningQueue {
  /** The job that provisions a prover, to be written by the caller's commit. */
  prepare(owner: Subject, proverId: string): StoreCommit;
  /** Says that there is something to do. */
  wake(): void;
  /** Ends and deletes a prover's job, if it has one. */
  cancel(proverId: string): Promise<void>;
}

export interface ProverServiceDependencies {
  readonly store: Store;
  readonly repository: ProverRepository;
  readonly catalog: Catalog;
  readonly builtIns: BuiltInCircuits;
  readonly artifacts: Artifacts;
  readonly vault: ProverVault;
  readonly notes: NoteStores;
  readonly proofs: Proofs;
  readonly watch: StatusWatch;
  readonly clock: Clock;
  readonly jobs: ProvisioningQueue;
}

/** Content types of the downloads, by the name in the path. */
const DOWNLOADS: Readonly<Record<string, { readonly artifact: ArtifactName; readonly contentType: string }>> = {
  "verifying_key.json": { artifact: "verifying_key.json", contentType: "application/json" },
  proving_key: { artifact: "proving_key", contentType: "application/octet-stream" },
  "proving_key.zkey": { artifact: "proving_key", contentType: "application/octet-stream" },
  "circuit.wasm": { artifact: "circuit.wasm", contentType: "application/wasm" },
  "circuit.r1cs": { artifact: "circuit.r1cs", contentType: "application/octet-stream" },
  "circuit.sym": { artifact: "circuit.sym", contentType: "text/plain; charset=UTF-8" },
  "interface.json": { artifact: "interface.json", contentType: "application/json" },
  "verifier.sol": { artifact: "verifier.sol", contentType: "text/plain; charset=UTF-8" },
};
/**
 * Artifacts that exist from `compiled` on may be fetched at once; those of the setup only when all gates have passed.
 */
const SETUP_ARTIFACTS: ReadonlySet<ArtifactName> = new Set(["proving_key", "verifying_key.json", "verifier.sol"]);
/** A store that is named at creation may change under it (a proof appends to it); a few tries settle that. */
const CREATE_TRIES_MAX = 8;
const NAME_LENGTH_MAX = 200;
const PENDING_RETRY_SEC = 10;

export class ProverService {
  readonly #options: ProverServiceOptions;
  readonly #with: ProverServiceDependencies;

  constructor(options: ProverServiceOptions, dependencies: ProverServiceDependencies) {
    this.#options = options;
    this.#with = dependencies;
  }

  /** One page, oldest first. Filters take the spellings that create takes. */
  list(owner: Subject, query: ProverFilters & Page): Listed<Prover> {
    const { catalog, repository } = this.#with;
    const filters: ProverFilters = {
      ...(query.curve === undefined ? {} : { curve: catalog.canonicalCurve(query.curve) }),
      ...(query.identifier === undefined ? {} : { identifier: query.identifier.trim().toLowerCase() }),
      ...(query.provider === undefined ? {} : { provider: catalog.canonicalProvider(query.provider) }),
      ...(query.proving_scheme === undefined ? {} : { proving_scheme: catalog.canonicalScheme(query.proving_scheme) }),
      ...(query.status === undefined ? {} : { status: query.status }),
      ...(query.name === undefined ? {} : { name: query.name }),
    };
    return repository.list(owner, filters, query);
  }

  /**
   * Registers a prover: one commit writes it, its vault with a key for notes, its stores and its job. The answer is the
   * prover as it then is, or, with `waitSec`, as it is when it is finished or the time is up.
   * @throws AppError `prover_unsupported`, `identifier_unknown`, `source_invalid`, `store_unsuitable`,
   *   `too_many_requests`, `overloaded`, and what vault and store throw.
   */
  async create(
    owner: Subject,
    request: CreateProver,
    wait: { readonly waitSec: number; readonly signal: AbortSignal },
  ): Promise<Prover> {
    const prover = await this.#register(owner, request);
    this.#with.jobs.wake();
    const isDone = (): boolean => {
      const found = this.#with.repository.find(owner, prover.id);
      return found === undefined || isFinished(found.value.status);
    };
    const waitMs = Math.min(wait.waitSec, this.#options.waitSecMax) * 1000;
    if (waitMs <= 0) return prover;
    await this.#with.watch.waitUntil(prover.id, isDone, { waitMs, signal: wait.signal });
    const found = this.#with.repository.find(owner, prover.id);
    return found === undefined ? prover : proverOnWire(found.value);
  }

  /** @throws AppError `not_found`, as all that take an id. */
  get(owner: Subject, id: string): Prover {
    return proverOnWire(this.#find(owner, id).value);
  }

  progress(owner: Subject, id: string): ProverProgress {
    const { status, errors } = this.#find(owner, id).value;
    return {
      id,
      status,
      finished: isFinished(status),
      progress: progressOf(status, this.#with.watch.shareOf(id)),
      step: stepOf(status),
      errors,
    };
  }

  /**
   * Removes the prover with its vault, its proof records and the stores that only it uses; a running job ends by
   * itself.
   */
  async delete(owner: Subject, id: string): Promise<void> {
    for (let tries = 0; tries < CREATE_TRIES_MAX; tries += 1) {
      const record = this.#find(owner, id);
      const { vault_id, note_store_id, nullifier_store_id } = record.value;
      try {
        await this.#with.store.commit(
          mergeCommits(
            this.#with.repository.deletion(record),
            this.#with.vault.prepareDeletion(owner, vault_id),
            this.#with.notes.prepareRelease(owner, id, [note_store_id, nullifier_store_id]),
          ),
        );
      } catch (error) {
        if (error instanceof StoreConflict) continue;
        throw error;
      }
      this.#with.watch.notify(id);
      await this.#with.jobs.cancel(id);
      await this.#with.vault.forget(vault_id);
      await this.#removeKeyFiles(record.value);
      return;
    }
    throw new AppError("prover_busy", { message: "the prover is in use, try again" });
  }

  async prove(
    owner: Subject,
    id: string,
    request: {
      readonly inputs: unknown;
      readonly format?: "snarkjs" | "solidity" | undefined;
      readonly signal: AbortSignal;
    },
  ): Promise<ProveResult> {
    return await this.#with.proofs.prove(owner, id, request);
  }

  /** `store` writes, and needs the permission to create. */
  async verify(
    principal: Principal,
    id: string,
    request: {
      readonly inputs: unknown;
      readonly proof: unknown;
      readonly store: boolean;
      readonly signal: AbortSignal;
    },
  ): Promise<boolean> {
    if (request.store && !holdsAll(principal.permissions, PERMISSIONS.create))
      throw new AppError("forbidden", { message: "storing a proof needs the permission create" });
    return await this.#with.proofs.verify(principal.subject, id, request);
  }

  /**
   * Many proofs at once; one that is malformed has its errors as its answer.
   * @throws AppError `invalid_request` when the body also has members of a single proof: `store` keeps single proofs
   *   only.
   */
  async verifyBatch(
    owner: Subject,
    id: string,
    request: { readonly body: VerifyBody; readonly signal: AbortSignal },
  ): Promise<VerifyResult> {
    const { batch = [], ...single } = request.body;
    for (const [path, value] of Object.entries(single)) {
      if (value === undefined || value === false) continue;
      const message =
        path === "store"
          ? "proofs are stored one by one, not from a batch"
          : `give one proof or \`batch\`: \`${path}\` belongs into the items`;
      throw new AppError("invalid_request", { message, details: [{ message, code: "invalid_request", path }] });
    }
    const results = await this.#with.proofs.verifyBatch(owner, id, {
      items: batch.map(({ witness, proof }) => ({ inputs: witness, proof })),
      signal: request.signal,
    });
    return {
      result: results.every((result) => result === true),
      batch: results.map((result) => (typeof result === "boolean" ? { result } : { errors: [...result.details] })),
    };
  }

  /** A file of the prover, its content checked against its hash. */
  async artifact(owner: Subject, id: string, name: string): Promise<FileAnswer> {
    const prover = this.#find(owner, id).value;
    const download = DOWNLOADS[name];
    const found = download === undefined ? undefined : prover.build.artifacts[download.artifact];
    const isReady =
      download !== undefined && (prover.status === "provisioned" || !SETUP_ARTIFACTS.has(download.artifact));
    if (found === undefined || download === undefined || !isReady)
      throw new AppError("not_found", { message: `the prover has no artifact ${name}` });
    const { sha256, bytes } = await this.#with.artifacts.verify(found.sha256);
    return { path: this.#with.artifacts.resolve(sha256), bytes, sha256, contentType: download.contentType };
  }

  listProofs(owner: Subject, id: string, page: Page): Listed<ProofRecord> {
    this.#find(owner, id);
    return this.#with.repository.listProofs(owner, id, page);
  }

  getProof(owner: Subject, id: string, proofId: string): ProofRecord {
    this.#find(owner, id);
    const found = this.#with.repository.findProof(owner, id, proofId);
    if (found === undefined) throw new AppError("not_found", { message: "proof not found" });
    return found;
  }

  async note(owner: Subject, id: string, index: number): Promise<Note> {
    return await this.#with.proofs.note(owner, id, index);
  }

  async #register(owner: Subject, request: CreateProver): Promise<Prover> {
    const { provider, proving_scheme, curve, trusted_setup } = this.#with.catalog.resolve({
      ...request,
      provider: request.provider ?? DEFAULT_PROVIDER,
    });
    const circuit = sourceOf(request, this.#with.builtIns);
    this.#requireRoom(owner);
    const id = newId();
    const name = request.name ?? circuit.identifier;
    const source = await this.#with.artifacts.put(Buffer.from(JSON.stringify(circuit.source)));
    const vault = await this.#with.vault.prepareProverVault(owner, {
      vault: `prover ${name}`.slice(0, NAME_LENGTH_MAX),
      noteKey: "notes",
    });
    for (let tries = 0; tries < CREATE_TRIES_MAX; tries += 1) {
      const stores = this.#with.notes.prepare(owner, id, curve, {
        notes: request.note_store_id ?? undefined,
        nullifiers: request.nullifier_store_id ?? undefined,
      });
      const prover = this.#compiledIfKnown({
        id,
        ...this.#now(),
        vault_id: vault.vaultId,
        proving_key_id: null,
        verifying_key_id: null,
        name,
        description: request.description ?? null,
        identifier: circuit.identifier,
        provider,
        proving_scheme,
        curve,
        status: "init",
        trusted_setup,
        note_store_id: stores.noteStoreId,
        nullifier_store_id: stores.nullifierStoreId,
        errors: [],
        warnings: [],
        build: {
          owner,
          circuit_hash: circuitHash(circuit, curve, this.#options.compilerName),
          is_built_in: circuit.isBuiltIn,
          note_key_id: vault.noteKeyId,
          artifacts: { "source.json": source },
          gates_passed: false,
        },
      });
      try {
        await this.#with.store.commit(
          mergeCommits(
            this.#with.repository.insert(prover),
            vault.commit,
            stores.commit,
            this.#with.jobs.prepare(owner, id),
          ),
        );
        return proverOnWire(prover);
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error;
      }
    }
    throw new AppError("conflict", { message: "the stores named are too busy, try again" });
  }

  /** A circuit that was compiled before is not compiled again. */
  #compiledIfKnown(prover: StoredProver): StoredProver {
    const known = this.#with.repository.findCircuit(scopeOf(prover), prover.build.circuit_hash);
    return known === undefined ? prover : { ...withCompiled(prover, known), status: "compiled" };
  }

  #now(): { readonly created_at: string; readonly updated_at: string } {
    const now = isoTimestamp(this.#with.clock.nowMs());
    return { created_at: now, updated_at: now };
  }

  #requireRoom(owner: Subject): void {
    if (this.#with.repository.countPending(owner) >= this.#options.pendingPerOwnerMax) {
      throw new AppError("too_many_requests", {
        message: `at most ${String(this.#options.pendingPerOwnerMax)} provers may be in provisioning at a time`,
        retryAfterSec: PENDING_RETRY_SEC,
      });
    }
    if (this.#with.repository.countPending() >= this.#options.pendingMax) {
      throw new AppError("overloaded", {
        message: "too many provers are in provisioning",
        retryAfterSec: PENDING_RETRY_SEC,
      });
    }
  }

  /** The keys are this prover's alone; what compiling gave may be shared and stays until nobody uses it. */
  async #removeKeyFiles(prover: StoredProver): Promise<void> {
    const files = [...SETUP_ARTIFACTS].flatMap((name) => prover.build.artifacts[name] ?? []);
    for (const { sha256 } of files)
      if (!this.#with.repository.isArtifactUsed(sha256)) await this.#with.artifacts.remove(sha256);
  }

  #find(owner: Subject, id: string): StoreRecord<StoredProver> {
    const found = this.#with.repository.find(owner, id);
    if (found === undefined) throw new AppError("not_found", { message: "prover not found" });
    return found;
  }
}

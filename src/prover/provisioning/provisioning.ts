/**
 * Takes a prover from `init` to `provisioned`: compile -> setup -> gates -> keys. Where the keys follow from a
 * universal setup they are derived while it is `compiled`, without the statuses of a setup. Each step stores its
 * results as artifacts by hash and then moves the record with a compare-and-set, so that it may be killed anywhere and
 * run again: recorded results are reused, others discarded. The record alone decides which step comes next.
 */
import { AppError, assert } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Events } from "../../platform/events/events.js";
import type { Log } from "../../platform/log.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import { StoreConflict, type StoreCommit, type StoreRecord } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import { builtProver } from "../built-prover.js";
import type { Catalog } from "../catalog.js";
import type { ComputeOptions, ReferenceStringFile, SetupKeys, StepFailure, StoredFile } from "../compute/compute.js";
import type { FirstKeys } from "../ceremonies/first-keys.js";
import { isInCeremony } from "../ceremonies/waiting.js";
import { isVerifierOnly } from "../imports/import-files.js";
import { diagnostic, limitDiagnostics } from "./diagnostics.js";
import type { KeyPins } from "./key-pins.js";
import type { KnownKeys } from "./known-keys.js";
import { isFinished, mayFollow, type ProverStatus } from "./lifecycle.js";
import { valuesOf } from "../../engine/circuit/interface.js";
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import type { BuiltProver, ImportRequest, OfferedSystem, Provider } from "../providers/provider.js";
import {
  scopeOf,
  type ArtifactName,
  type ArtifactSet,
  type CompiledCircuit,
  type ProverRepository,
  type StoredProver,
} from "../repository.js";
import {
  importFiles,
  phaseOf,
  requiredFile,
  storedOnly,
  withCompiled,
  withoutImport,
  type ProvisioningPhase,
} from "./prover-steps.js";
import { statusEvents } from "../prover-events.js";
import type { ProverDiagnostic, UniversalSetup } from "../schemas.js";
import type { ReferenceStrings } from "./reference-strings.js";
import type { SourceFiles } from "./source-files.js";
import { unknownSignal } from "../stores/unknown-signal.js";
import type { ProverVault } from "../vault-port.js";

export interface ProvisioningDependencies {
  readonly repository: ProverRepository;
  readonly artifacts: Artifacts;
  /** Holds what is made until the record names it, and removes the files of imports. */
  readonly files: SourceFiles;
  /** The providers, which do the work of the steps. */
  readonly catalog: Catalog;
  readonly pins: KeyPins;
  readonly strings: ReferenceStrings;
  readonly knownKeys: KnownKeys;
  readonly firstKeys: FirstKeys;
  readonly vault: ProverVault;
  readonly events: Pick<Events, "commitOf">;
  /** Prepares the contracts that a prover waits for before it is provisioned. */
  readonly planned: (prover: StoredProver) => { readonly ids: string[]; readonly commit: StoreCommit };
  /** Prepares what begins when a prover is provisioned. */
  readonly followUp: (prover: StoredProver) => StoreCommit;
  /** The name under which a subject's work waits for its turn. */
  readonly turnOf: (subject: Subject) => string;
  readonly clock: Clock;
  readonly log: Log;
}

/** The lease under which a run works. */
export interface ProvisioningLease {
  readonly signal: AbortSignal;
  /**
   * Commits the results of a step together with the name of the next phase. Rejects with StoreConflict, or when the
   * lease is lost.
   */
  readonly commit: (phase: ProvisioningPhase, commit: StoreCommit) => Promise<void>;
  /** Reports the share of the phase that is done, 0 to 1. */
  readonly progress: (share: number) => void;
  /** Hands the prover over to the line of the large ones; absent in that line. The run must end then. */
  readonly moveToLargeLine?: () => Promise<void>;
}

export interface ProvisioningOptions {
  /**
   * From this much memory for the open key on, setup, gates and the reading of an import are large: they wait for each
   * other in a line of their own, so that small circuits never wait for them.
   */
  readonly largeBytes: number;
}

/**
 * The record was deleted or moved by another run while a step ran, so that the results of this run are discarded; or
 * the job goes on in another line.
 */
class NothingToDo extends Error {
  override readonly name = "NothingToDo";
}

/** More than the existing steps: reaching it means that a step did not move the record. */
const STEPS_MAX = 16;
/** Said of a key from outside whose string the server does not have. */
const STRING_UNKNOWN = diagnostic(
  "reference_string_unknown",
  "the key's powers of tau are not among the files of this server: what the key shows by itself was checked, and not that each of its points follows from them",
);
/** Without a reference string, with it, and once more if another was deleted meanwhile. */
const SETUP_TRIES_MAX = 3;
/** An open key takes about this many times the bytes of its files: some 85 MB are uploaded for 2^17 constraints. */
const OPEN_PER_UPLOADED = 3;
/** Another prover that takes the same tags, or the owner who changes them. */
const PIN_CONFLICTS_MAX = 8;

export class Provisioning {
  readonly #options: ProvisioningOptions;
  readonly #with: ProvisioningDependencies;
  /** Files of imports that `failure` ended; in memory, as the next start removes what is left over. */
  readonly #failed = new Map<string, ArtifactSet>();

  constructor(options: ProvisioningOptions, dependencies: ProvisioningDependencies) {
    this.#options = options;
    this.#with = dependencies;
  }

  /**
   * Runs the remaining steps. Returns when the prover is finished (`failed` included) or deleted; waits while the vault
   * is sealed; rejects when a step cannot be done now (no room on the disk, a fault), so that the queue tries again.
   */
  async run(owner: Subject, proverId: string, lease: ProvisioningLease): Promise<void> {
    try {
      for (let step = 0; step < STEPS_MAX; step += 1) {
        lease.signal.throwIfAborted();
        const prover = this.#with.repository.find(owner, proverId)?.value;
        if (prover === undefined || isFinished(prover.status)) return;
        await this.#step(prover, lease);
      }
      assert(false, "every step moves the prover");
    } catch (error) {
      if (!(error instanceof NothingToDo)) throw error;
    }
  }

  /**
   * Prepares the commit for when the queue gives up: the prover fails with the reason. Undefined when it is finished or
   * deleted.
   */
  failure(
    owner: Subject,
    proverId: string,
    reason: { readonly code: string; readonly message: string },
  ): StoreCommit | undefined {
    const record = this.#with.repository.find(owner, proverId);
    if (record === undefined || isFinished(record.value.status)) return undefined;
    if (record.value.build.import !== undefined) this.#failed.set(proverId, record.value.build.artifacts);
    const failed: StoredProver = {
      ...withoutImport(this.#touched(record)),
      status: "failed",
      errors: [diagnostic(reason.code, reason.message)],
    };
    return mergeCommits(
      this.#with.repository.update(record, failed),
      this.#with.events.commitOf(statusEvents(failed, "failed")),
    );
  }

  /**
   * Prepares the end of a prover's wait for one of its contracts. With the last of them it is provisioned, whether they
   * were deployed or not; what went wrong is a warning. Empty when it does not wait for this one.
   */
  release({
    owner,
    proverId,
    verifierId,
    problem,
  }: {
    readonly owner: Subject;
    readonly proverId: string;
    readonly verifierId: string;
    readonly problem: ProverDiagnostic | undefined;
  }): StoreCommit {
    const record = this.#with.repository.find(owner, proverId);
    const waiting = record?.value.build.deploying ?? [];
    if (record?.value.status !== "deploying_artifacts" || !waiting.includes(verifierId)) return {};
    const left = waiting.filter((id) => id !== verifierId);
    const touched = this.#touched(record);
    const { deploying: _waited, ...build } = touched.build;
    const warnings = problem === undefined ? touched.warnings : [...touched.warnings, problem];
    if (left.length > 0)
      return this.#with.repository.update(record, { ...touched, warnings, build: { ...build, deploying: left } });
    const next: StoredProver = { ...touched, warnings, build, status: "provisioned" };
    return mergeCommits(
      this.#with.repository.update(record, next),
      this.#with.events.commitOf(statusEvents(next, "provisioned")),
      this.#with.followUp(next),
    );
  }

  /** Removes the files of an import that `failure` ended, once that is committed; without it they are still named. */
  async removeFailed(proverId: string): Promise<void> {
    const artifacts = this.#failed.get(proverId);
    if (artifacts === undefined) return;
    this.#failed.delete(proverId);
    await this.#removeUnused(artifacts);
  }

  async #step(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    const { status } = prover;
    switch (status) {
      case "init":
        await this.#move(prover, "compiling", lease);
        return;
      case "compiling":
        await this.#compile(prover, lease);
        return;
      case "compiled":
        if (await this.#lacksNullifier(prover, lease)) return;
        if (this.#systemOf(prover).setup !== "own") await this.#deriveKeys(prover, lease);
        else await this.#move(prover, "pending_setup", lease);
        return;
      case "pending_setup":
        if (prover.build.has_ceremony === true) await this.#openCeremony(prover, lease);
        else await this.#move(prover, "running_setup", lease);
        return;
      case "running_setup":
        if (isInCeremony(prover)) throw new NothingToDo("contributions are awaited");
        await this.#deriveKeys(prover, lease);
        return;
      case "deploying_artifacts":
      case "provisioned":
      case "failed":
        throw new NothingToDo("no step follows this status");
    }
  }

  async #compile(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    if (prover.build.import !== undefined) {
      await this.#import(prover, lease);
      return;
    }
    const scope = scopeOf(prover);
    const hash = prover.build.circuit_hash;
    const finish = async (compiled: CompiledCircuit): Promise<void> => {
      const shared = this.#with.repository.putCircuit(scope, hash, compiled);
      await this.#move(withCompiled(prover, compiled), "compiled", lease, shared);
    };
    const known = this.#with.repository.findCircuit(scope, hash);
    if (known !== undefined && (await this.#with.files.keepAll(Object.values(known.artifacts)))) await finish(known);
    else await this.#compileAnew(prover, lease, finish);
  }

  /** Reads the files of an import, which take the place of a compilation's. */
  async #import(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    const { artifacts: uploaded } = prover.build;
    await this.#leaveIfLarge(lease, () => {
      const bytes = Object.values(uploaded).reduce((sum, file) => sum + file.bytes, 0);
      return Promise.resolve(OPEN_PER_UPLOADED * bytes);
    });
    const { readImport } = this.#providerOf(prover);
    assert(readImport !== undefined, "an import is registered with a provider that takes it");
    const outcome = await readImport(
      {
        system: this.#systemOf(prover),
        files: await importFiles(prover, async (name) => await this.#file(prover, name)),
        ...(await this.#candidates(prover)),
      },
      this.#optionsOf(prover, lease),
    );
    if (!outcome.ok) {
      await this.#fail(prover, outcome.errors, lease);
      return;
    }
    const { circuit, witnessProgram, verifyingKey, provingKey, referenceString } = outcome.value;
    const made = {
      "circuit.wasm": witnessProgram,
      "interface.json": Buffer.from(JSON.stringify(circuit)),
      "verifying_key.json": verifyingKey === undefined ? undefined : Buffer.from(verifyingKey),
      proving_key: provingKey,
    };
    await this.#with.files.holdAll(made, async (files) => {
      const { "imported_verifying_key.json": _compared, ...kept } = uploaded;
      const { artifacts, setup } = this.#stringParts(this.#systemOf(prover).importCurve, referenceString);
      const build = {
        ...prover.build,
        artifacts: { ...kept, ...files, ...artifacts },
        value_count: valuesOf(circuit),
        // A verifying key alone has passed its gates with its reading.
        ...(isVerifierOnly(prover) ? { gates_passed: true } : {}),
      };
      const isUnchecked = kept.proving_key !== undefined && setup === null;
      const warnings = isUnchecked ? [...prover.warnings, STRING_UNKNOWN] : prover.warnings;
      await this.#move({ ...prover, setup, warnings, build }, "compiled", lease);
    });
    await this.#removeUnused(uploaded);
  }

  /** The strings from one of which an imported key may follow: the one that it names, else all of its curve. */
  async #candidates(prover: StoredProver): Promise<Pick<ImportRequest, "strings" | "needsString">> {
    const { importCurve } = this.#systemOf(prover);
    if (prover.build.artifacts["proving_key"] === undefined || importCurve === undefined) return {};
    const named = prover.build.import?.reference_string;
    const kept = this.#with.strings.list(importCurve);
    const wanted = kept.filter(({ sha256 }) => named === undefined || sha256 === named);
    const strings = await Promise.all(wanted.map(({ sha256, power }) => this.#with.strings.file(sha256, power)));
    return { strings, needsString: named !== undefined };
  }

  async #file(prover: StoredProver, name: ArtifactName): Promise<StoredFile> {
    const { sha256 } = requiredFile(prover, name);
    return { sha256, path: await this.#with.artifacts.resolve(sha256) };
  }

  async #removeUnused(artifacts: ArtifactSet): Promise<void> {
    for (const { sha256 } of Object.values(artifacts)) await this.#with.files.removeUnused(sha256);
  }

  /** Fails a prover whose own nullifier is no public signal of the circuit; returns whether it has. */
  async #lacksNullifier(prover: StoredProver, lease: ProvisioningLease): Promise<boolean> {
    const { nullifier } = prover;
    if (typeof nullifier !== "string") return false;
    const names = await this.#providerOf(prover).publicNames(this.#built(prover));
    if (names.includes(nullifier)) return false;
    await this.#fail(prover, [diagnostic("nullifier_unknown", unknownSignal(nullifier, names))], lease);
    return true;
  }

  /** Compiles the source; where it does not compile, the prover fails. */
  async #compileAnew(
    prover: StoredProver,
    lease: ProvisioningLease,
    finish: (compiled: CompiledCircuit) => Promise<void>,
  ): Promise<void> {
    const options = this.#optionsOf(prover, lease);
    const outcome = await this.#providerOf(prover).compile(this.#built(prover), options);
    if (!outcome.ok) {
      await this.#fail({ ...prover, warnings: limitDiagnostics(outcome.warnings) }, outcome.errors, lease);
      return;
    }
    const { files, warnings, valueCount, compiler } = outcome;
    const described = {
      warnings: limitDiagnostics(warnings),
      value_count: valueCount,
      ...(compiler === undefined ? {} : { compiler }),
    };
    await this.#with.files.holdAll(files, async (artifacts) => {
      await finish({ artifacts: storedOnly(artifacts), ...described });
    });
  }

  async #deriveKeys(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    const { artifacts, gates_passed } = prover.build;
    if (isVerifierOnly(prover)) await this.#pinKeys(prover, lease);
    else if (artifacts.proving_key === undefined) await this.#setup(prover, lease);
    else if (!gates_passed) await this.#passGates(prover, lease);
    else await this.#pinKeys(prover, lease);
  }

  async #setup(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    const isTaken = await this.#with.knownKeys.take(prover, async ({ setup, artifacts: keys }) => {
      const artifacts = { ...prover.build.artifacts, ...keys };
      await this.#write(prover, { ...prover, setup, build: { ...prover.build, artifacts, gates_passed: true } }, lease);
    });
    if (!isTaken) await this.#setupAnew(prover, lease);
  }

  async #setupAnew(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    await this.#leaveIfLarge(lease, async () => await this.#setupSize(prover));
    const made = await this.#makeKeys(prover, lease);
    if (!made.ok) {
      await this.#fail(prover, made.errors, lease);
      return;
    }
    const { provingKey, verifyingKey, referenceString } = made.value;
    const { artifacts: reference, setup } = this.#stringParts(this.#systemOf(prover).stringCurve, referenceString);
    const keys = { proving_key: provingKey, "verifying_key.json": Buffer.from(verifyingKey) };
    await this.#with.files.holdAll(keys, async (files) => {
      const artifacts: ArtifactSet = { ...prover.build.artifacts, ...files, ...reference };
      await this.#write(prover, { ...prover, setup, build: { ...prover.build, artifacts } }, lease);
    });
  }

  /** Makes the key that contributors go on from; the ceremony's end brings the job that goes on. */
  async #openCeremony(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    const { stringCurve } = this.#systemOf(prover);
    assert(stringCurve !== undefined, "ceremonies are held where a phase 1 is published");
    await this.#leaveIfLarge(lease, async () => await this.#setupSize(prover));
    const made = await this.#with.firstKeys.make(prover, stringCurve, this.#optionsOf(prover, lease));
    if (!made.ok) {
      await this.#fail(prover, made.errors, lease);
      return;
    }
    const first = made.value;
    await this.#with.files.holdAll({ key: first.key }, async ({ key = null }) => {
      const { artifacts, setup } = this.#stringParts(stringCurve, first.referenceString);
      const build = { ...prover.build, artifacts: { ...prover.build.artifacts, ...artifacts } };
      const opening = this.#with.firstKeys.opening(prover, stringCurve, { key, first });
      await this.#move({ ...prover, setup, build }, "running_setup", lease, opening);
    });
  }

  /** What the record of a prover has of the string from which its keys follow. */
  #stringParts(
    curve: CurveName | undefined,
    sha256: string | undefined,
  ): { readonly artifacts: ArtifactSet; readonly setup: UniversalSetup | null } {
    if (sha256 === undefined) return { artifacts: {}, setup: null };
    const string = curve === undefined ? undefined : this.#with.strings.find(curve, sha256);
    assert(string !== undefined, "keys follow from a string that is kept");
    const { origin, power, bytes } = string;
    return { artifacts: { reference_string: { sha256, bytes } }, setup: { origin, sha256, power } };
  }

  /** Makes the keys, and before that the reference string that they take, if there is none. */
  async #makeKeys(
    prover: StoredProver,
    lease: ProvisioningLease,
  ): Promise<{ readonly ok: true; readonly value: SetupKeys } | StepFailure> {
    const { stringCurve: curve } = this.#systemOf(prover);
    const built = this.#built(prover);
    const options = this.#optionsOf(prover, lease);
    const { phase1 } = prover.build;
    const { strings } = this.#with;
    for (let tries = 0; tries < SETUP_TRIES_MAX; tries += 1) {
      const files = curve === undefined ? undefined : await this.#stringsFor(prover, curve, { isEnsured: tries > 0 });
      const made = await this.#providerOf(prover).setup(built, files, options);
      if (!("referencePower" in made)) return made;
      assert(curve !== undefined, "only keys that follow from a reference string take one");
      const power = made.referencePower;
      const { signal } = lease;
      const failure =
        phase1 === undefined
          ? await strings.ensure(curve, power, { signal })
          : await strings.ensurePhase1(curve, { phase1, power }, { signal });
      if (failure !== undefined) return failure;
    }
    throw new AppError("internal_error", { message: "no reference string is large enough, though one was made" });
  }

  /** The strings from which the keys may follow; undefined where the server makes all secrets by itself. */
  async #stringsFor(
    prover: StoredProver,
    curve: CurveName,
    ensured: { readonly isEnsured: boolean },
  ): Promise<ReferenceStringFile[] | undefined> {
    const { phase1 } = prover.build;
    if (phase1 !== undefined) return await this.#with.strings.phase1Files(curve, phase1);
    return this.#systemOf(prover).setup === "universal" ? await this.#with.strings.files(curve, ensured) : undefined;
  }

  async #passGates(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    await this.#leaveIfLarge(lease, async () => await this.#setupSize(prover));
    const options = this.#optionsOf(prover, lease);
    const string = await this.#stringOf(prover);
    const passed = await this.#providerOf(prover).gates(this.#built(prover), string, options);
    if (!passed.ok) {
      await this.#fail(prover, passed.errors, lease);
      return;
    }
    await this.#write(prover, { ...prover, build: { ...prover.build, gates_passed: true } }, lease);
  }

  #optionsOf({ build }: StoredProver, { signal, progress }: ProvisioningLease): ComputeOptions {
    return { owner: this.#with.turnOf(build.owner), signal, onProgress: progress };
  }

  async #setupSize(prover: StoredProver): Promise<number> {
    return (await this.#providerOf(prover).setupSize?.(this.#built(prover))) ?? 0;
  }

  /** Hands a large prover over to the line of its own, once; the run ends with that. */
  async #leaveIfLarge({ moveToLargeLine }: ProvisioningLease, sizeOf: () => Promise<number>): Promise<void> {
    if (moveToLargeLine === undefined || (await sizeOf()) < this.#options.largeBytes) return;
    await moveToLargeLine();
    throw new NothingToDo("the job goes on in the line of large circuits");
  }

  async #stringOf({ setup }: StoredProver): Promise<ReferenceStringFile | undefined> {
    if (setup === undefined || setup === null) return undefined;
    return await this.#with.strings.file(setup.sha256, setup.power);
  }

  #providerOf(prover: StoredProver): Provider {
    return this.#with.catalog.providerOf(prover);
  }

  #systemOf(prover: StoredProver): OfferedSystem {
    return this.#with.catalog.systemOf(prover);
  }

  #built(prover: StoredProver): BuiltProver {
    return builtProver(prover, this.#systemOf(prover), this.#with);
  }

  /** Waits until the vault is unsealed; all other steps are done by then. */
  async #pinKeys(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    const { owner } = prover.build;
    for (let conflicts = 0; ;) {
      await this.#with.vault.untilUnsealed(lease.signal);
      try {
        const pin = async (name: "proving_key" | "verifying_key", artifact: ArtifactName) =>
          await this.#with.pins.prepare(owner, prover, name, requiredFile(prover, artifact));
        const proving = isVerifierOnly(prover) ? undefined : await pin("proving_key", "proving_key");
        const verifying = await pin("verifying_key", "verifying_key.json");
        const pinned = {
          ...prover,
          proving_key_id: proving?.secretId ?? null,
          verifying_key_id: verifying.secretId,
        };
        await this.#complete(pinned, lease, mergeCommits(proving?.commit ?? {}, verifying.commit));
        return;
      } catch (error) {
        conflicts += 1;
        if (error instanceof StoreConflict && conflicts < PIN_CONFLICTS_MAX) continue;
        if (!(error instanceof AppError)) throw error;
        if (error.code === "not_found") {
          const reason = diagnostic("vault_gone", "the prover's vault was deleted before its keys could be pinned");
          await this.#fail(prover, [reason], lease);
          return;
        }
        // Sealed again after `untilUnsealed`: wait for the next unsealing.
        if (error.code !== "vault_sealed") throw error;
      }
    }
  }

  /** The prover is ready, but for contracts that it was created with. */
  async #complete(prover: StoredProver, lease: ProvisioningLease, pins: StoreCommit): Promise<void> {
    if ((prover.build.plans ?? []).length === 0) {
      await this.#move(prover, "provisioned", lease, pins);
      return;
    }
    const { ids, commit } = this.#with.planned(prover);
    const waiting = { ...prover, build: { ...prover.build, deploying: ids } };
    await this.#move(waiting, "deploying_artifacts", lease, mergeCommits(pins, commit));
  }

  async #fail(prover: StoredProver, errors: readonly ProverDiagnostic[], lease: ProvisioningLease): Promise<void> {
    const { build } = withoutImport(prover);
    await this.#move({ ...prover, build, errors: limitDiagnostics(errors) }, "failed", lease);
    if (prover.build.import !== undefined) await this.#removeUnused(prover.build.artifacts);
  }

  async #move(prover: StoredProver, to: ProverStatus, lease: ProvisioningLease, more: StoreCommit = {}): Promise<void> {
    assert(mayFollow(prover.status, to), `a prover may go from ${prover.status} to ${to}`);
    const events = this.#with.events.commitOf(statusEvents(prover, to));
    const next = to === "provisioned" ? this.#with.followUp(prover) : {};
    await this.#write(prover, { ...prover, status: to }, lease, mergeCommits(more, events, next));
    this.#with.log.info("prover moved", { prover_id: prover.id, state: to });
  }

  /**
   * Writes the record if it is unchanged since the step began. Otherwise another lease did the same step, or the prover
   * or its vault was deleted.
   */
  async #write(
    before: StoredProver,
    after: StoredProver,
    lease: ProvisioningLease,
    more: StoreCommit = {},
  ): Promise<void> {
    const record = this.#with.repository.find(before.build.owner, before.id);
    if (record === undefined || record.value.updated_at !== before.updated_at)
      throw new NothingToDo("the prover was changed or deleted");
    const updated: StoredProver = { ...after, updated_at: this.#touched(record).updated_at };
    try {
      await lease.commit(phaseOf(updated), mergeCommits(this.#with.repository.update(record, updated), more));
    } catch (error) {
      if (
        error instanceof StoreConflict &&
        this.#with.repository.find(before.build.owner, before.id)?.version !== record.version
      )
        throw new NothingToDo("the prover was changed or deleted");
      throw error;
    }
  }

  /**
   * Each change gets a later `updated_at` than the last, even when the clock stepped back: it identifies the change.
   */
  #touched({ value }: StoreRecord<StoredProver>): StoredProver {
    return { ...value, updated_at: isoTimestamp(Math.max(this.#with.clock.nowMs(), Date.parse(value.updated_at) + 1)) };
  }
}

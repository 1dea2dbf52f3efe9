/**
 * Takes a prover from `init` to `provisioned`: compile -> setup -> gates -> keys. Each step leaves its results as
 * artifacts by hash and then moves the record with a compare-and-set, so that it may be killed anywhere and run twice:
 * what is on record is not done again, what is not is thrown away. Which step comes next is read from the record alone.
 */
import { AppError, assert } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Events } from "../../platform/events/events.js";
import type { Log } from "../../platform/log.js";
import type { ArtifactReference, Artifacts } from "../../platform/store/artifacts.js";
import { StoreConflict, type StoreCommit, type StoreRecord } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import type { GatesInput, ProverCompute, StoredFile } from "../compute/compute.js";
import { finding, limitFindings } from "./compile-warnings.js";
import type { KeyPins } from "./key-pins.js";
import { isFinished, mayFollow, type ProverStatus } from "./lifecycle.js";
import type { CircuitInterface } from "../../engine/circuit/interface.js";
import {
  scopeOf,
  type ArtifactName,
  type ArtifactSet,
  type CompiledCircuit,
  type ProverRepository,
  type StoredProver,
} from "../repository.js";
import { statusEvents } from "../prover-events.js";
import type { Finding } from "../schemas.js";
import { circuitHash, type BuiltInCircuits, type CircuitSource } from "./sources.js";
import type { ProverVault } from "../vault-port.js";

export interface ProvisioningDependencies {
  readonly repository: ProverRepository;
  readonly artifacts: Artifacts;
  readonly compute: ProverCompute;
  readonly builtIns: BuiltInCircuits;
  readonly pins: KeyPins;
  readonly vault: ProverVault;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
  readonly log: Log;
}

/** The lease under which a run works. */
export interface ProvisioningLease {
  readonly signal: AbortSignal;
  /**
   * Commits what a step made, together with the name of the phase that comes next. Rejects with StoreConflict, or when
   * the lease is lost.
   */
  readonly commit: (phase: ProvisioningPhase, commit: StoreCommit) => Promise<void>;
  /** Tells how much of the phase is done, 0 to 1. */
  readonly progress: (share: number) => void;
}

export const PROVISIONING_PHASES = ["compile", "setup", "gates", "keys", "end"] as const;
export type ProvisioningPhase = (typeof PROVISIONING_PHASES)[number];

/** The record was deleted or moved by somebody else while a step ran: this run's results are worth nothing. */
class NothingToDo extends Error {
  override readonly name = "NothingToDo";
}

/** More steps than there are would mean that one of them does not move the record. */
const STEPS_MAX = 16;

export class Provisioning {
  readonly #with: ProvisioningDependencies;

  constructor(dependencies: ProvisioningDependencies) {
    this.#with = dependencies;
  }

  /**
   * Runs whatever steps are left. Returns when the prover is finished (`failed` included) or gone; waits while the
   * vault is sealed; rejects when a step could not be done now (no room on the disk, a fault), for the queue to try
   * again.
   */
  async run(owner: Subject, proverId: string, lease: ProvisioningLease): Promise<void> {
    try {
      for (let step = 0; step < STEPS_MAX; step += 1) {
        lease.signal.throwIfAborted();
        const prover = this.#with.repository.find(owner, proverId)?.value;
        if (prover === undefined || isFinished(prover.status)) return;
        await this.#step(prover, lease);
      }
      throw new Error("invariant broken: every step moves the prover");
    } catch (error) {
      if (!(error instanceof NothingToDo)) throw error;
    }
  }

  /**
   * What to commit when the queue gives up: the prover fails with the reason. Undefined when it is finished or gone.
   */
  failure(
    owner: Subject,
    proverId: string,
    reason: { readonly code: string; readonly message: string },
  ): StoreCommit | undefined {
    const record = this.#with.repository.find(owner, proverId);
    if (record === undefined || isFinished(record.value.status)) return undefined;
    const failed: StoredProver = {
      ...this.#touched(record),
      status: "failed",
      errors: [finding(reason.code, reason.message)],
    };
    return mergeCommits(
      this.#with.repository.update(record, failed),
      this.#with.events.commitOf(statusEvents(owner, proverId, "failed")),
    );
  }

  async #step(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    const { status, build } = prover;
    switch (status) {
      case "init":
        return await this.#move(prover, "compiling", lease);
      case "compiling":
        return await this.#compile(prover, lease);
      case "compiled":
        return await this.#move(prover, "pending_setup", lease);
      case "pending_setup":
        return await this.#move(prover, "running_setup", lease);
      case "running_setup":
        if (build.artifacts.proving_key === undefined) return await this.#setup(prover, lease);
        if (!build.gates_passed) return await this.#passGates(prover, lease);
        return await this.#pinKeys(prover, lease);
      case "deploying_artifacts":
      case "provisioned":
      case "failed":
        throw new NothingToDo("no step leads on from this status");
    }
  }

  async #compile(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    const scope = scopeOf(prover);
    const hash = prover.build.circuit_hash;
    const known = this.#with.repository.findCircuit(scope, hash) ?? (await this.#compileAnew(prover, lease));
    if (known === undefined) return;
    await this.#move(
      withCompiled(prover, known),
      "compiled",
      lease,
      this.#with.repository.putCircuit(scope, hash, known),
    );
  }

  /** Undefined when the source does not compile; the prover has failed then. */
  async #compileAnew(prover: StoredProver, lease: ProvisioningLease): Promise<CompiledCircuit | undefined> {
    const text = await this.#with.artifacts.read(required(prover, "source.json").sha256);
    const outcome = await this.#with.compute.compile(JSON.parse(text.toString("utf8")) as CircuitSource, {
      signal: lease.signal,
      onProgress: lease.progress,
    });
    if (!outcome.ok) {
      await this.#fail({ ...prover, warnings: limitFindings(outcome.warnings) }, outcome.errors, lease);
      return undefined;
    }
    const { witnessProgram, r1cs, sym, circuit, warnings } = outcome.value;
    const artifacts: ArtifactSet = {
      "circuit.wasm": await this.#with.artifacts.put(witnessProgram),
      "circuit.r1cs": await this.#with.artifacts.put(r1cs),
      "circuit.sym": await this.#with.artifacts.put(sym),
      "interface.json": await this.#with.artifacts.put(Buffer.from(JSON.stringify(circuit))),
    };
    return { artifacts, warnings: limitFindings(warnings) };
  }

  async #setup(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    const r1cs = await this.#with.artifacts.read(required(prover, "circuit.r1cs").sha256);
    const made = await this.#with.compute.setup(r1cs, { signal: lease.signal, onProgress: lease.progress });
    if (!made.ok) return await this.#fail(prover, made.errors, lease);
    const artifacts: ArtifactSet = {
      ...prover.build.artifacts,
      proving_key: await this.#with.artifacts.put(made.value.provingKey),
      "verifying_key.json": await this.#with.artifacts.put(Buffer.from(made.value.verifyingKey)),
    };
    await this.#write(prover, { ...prover, build: { ...prover.build, artifacts } }, lease);
  }

  async #passGates(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    const file = (name: ArtifactName): StoredFile => {
      const { sha256 } = required(prover, name);
      return { sha256, path: this.#with.artifacts.resolve(sha256) };
    };
    const example = await this.#example(prover, file("circuit.wasm"));
    const passed = await this.#with.compute.gates(
      {
        r1cs: file("circuit.r1cs"),
        provingKey: file("proving_key"),
        verifyingKey: file("verifying_key.json"),
        ...(example === undefined ? {} : { example }),
      },
      { signal: lease.signal, onProgress: lease.progress },
    );
    if (!passed.ok) return await this.#fail(prover, passed.errors, lease);
    const artifacts: ArtifactSet = {
      ...prover.build.artifacts,
      "verifier.sol": await this.#with.artifacts.put(Buffer.from(passed.value.verifierContract)),
    };
    await this.#write(prover, { ...prover, build: { ...prover.build, artifacts, gates_passed: true } }, lease);
  }

  /**
   * Built-in circuits come with inputs that satisfy them, unless the prover was registered under an older version of
   * the circuit.
   */
  async #example(prover: StoredProver, witnessProgram: StoredFile): Promise<GatesInput["example"]> {
    if (!prover.build.is_built_in) return undefined;
    const found = this.#with.builtIns.find(prover.identifier);
    if (
      found?.satisfyingInputs === undefined ||
      circuitHash(found, prover.curve, this.#with.compute.compilerName) !== prover.build.circuit_hash
    )
      return undefined;
    const text = await this.#with.artifacts.read(required(prover, "interface.json").sha256);
    return {
      circuit: JSON.parse(text.toString("utf8")) as CircuitInterface,
      witnessProgram,
      inputs: found.satisfyingInputs,
    };
  }

  /** The vault has to be unsealed for this; until then the job waits with everything else done. */
  async #pinKeys(prover: StoredProver, lease: ProvisioningLease): Promise<void> {
    const { owner } = prover.build;
    for (;;) {
      await this.#with.vault.untilUnsealed(lease.signal);
      try {
        const proving = await this.#with.pins.prepare(owner, prover, "proving_key", required(prover, "proving_key"));
        const verifying = await this.#with.pins.prepare(
          owner,
          prover,
          "verifying_key",
          required(prover, "verifying_key.json"),
        );
        const pinned = { ...prover, proving_key_id: proving.secretId, verifying_key_id: verifying.secretId };
        return await this.#move(pinned, "provisioned", lease, mergeCommits(proving.commit, verifying.commit));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (error.code === "not_found")
          return await this.#fail(
            prover,
            [finding("vault_gone", "the prover's vault was deleted before its keys could be kept")],
            lease,
          );
        if (error.code !== "vault_sealed") throw error;
      }
    }
  }

  async #fail(prover: StoredProver, errors: readonly Finding[], lease: ProvisioningLease): Promise<void> {
    await this.#move({ ...prover, errors: limitFindings(errors) }, "failed", lease);
  }

  async #move(prover: StoredProver, to: ProverStatus, lease: ProvisioningLease, more: StoreCommit = {}): Promise<void> {
    assert(mayFollow(prover.status, to), `a prover may go from ${prover.status} to ${to}`);
    const told = this.#with.events.commitOf(statusEvents(prover.build.owner, prover.id, to));
    await this.#write(prover, { ...prover, status: to }, lease, mergeCommits(more, told));
    this.#with.log.info("prover moved", { prover_id: prover.id, state: to });
  }

  /**
   * Writes the record if it is still as it was when the step began: nobody else moved or deleted it. A lost race means
   * that another lease did the same step, or that the prover or its vault is gone.
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
   * Every change gets a later time than the one before, even when the clock has stepped back: it also tells changes
   * apart.
   */
  #touched({ value }: StoreRecord<StoredProver>): StoredProver {
    return { ...value, updated_at: isoTimestamp(Math.max(this.#with.clock.nowMs(), Date.parse(value.updated_at) + 1)) };
  }
}

/** The step that a prover waits for. */
export function phaseOf(prover: StoredProver): ProvisioningPhase {
  if (isFinished(prover.status)) return "end";
  if (prover.status === "init" || prover.status === "compiling") return "compile";
  if (prover.build.artifacts.proving_key === undefined) return "setup";
  return prover.build.gates_passed ? "keys" : "gates";
}

/** The prover with what compiling its circuit gave. */
export function withCompiled(prover: StoredProver, circuit: CompiledCircuit): StoredProver {
  return {
    ...prover,
    warnings: [...circuit.warnings],
    build: { ...prover.build, artifacts: { ...prover.build.artifacts, ...circuit.artifacts } },
  };
}

function required(prover: StoredProver, name: ArtifactName): ArtifactReference {
  const found = prover.build.artifacts[name];
  if (found === undefined) throw new AppError("artifact_corrupt", { message: `the prover has no ${name}` });
  return found;
}

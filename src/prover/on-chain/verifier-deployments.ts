/**
 * Takes a verifier from `queued` to `ready`: compile and deploy -> follow -> check -> register. The record alone
 * decides which step comes next. The transaction of a step is stored in the same commit as its result, so that a kill
 * at any point costs a compile or some questions, and never sends anything twice.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Subject } from "../../platform/auth/principal.js";
import type { ContractPort, FollowedTransaction } from "../../chain/contracts/contract-port.js";
import type { SolidityRequest } from "../../engine/solidity/compile-solidity.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, assert } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import type { JobFault } from "../../platform/jobs/job.js";
import type { Log } from "../../platform/log.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import { StoreConflict, type StoreCommit, type StoreRecord } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import { verifierMoved } from "../prover-events.js";
import type { VerifierContracts } from "../proofs/verifier-contracts.js";
import { diagnostic } from "../provisioning/diagnostics.js";
import type { KeyPins } from "../provisioning/key-pins.js";
import type { Provisioning } from "../provisioning/provisioning.js";
import type { ProverRepository, StoredProver } from "../repository.js";
import type { ProverVault } from "../vault-port.js";
import { expectedCode, placeOf, type ContractChecks } from "./contract-checks.js";
import type { KnownAnswers } from "./known-answers.js";
import { registeredIn, registrationCall } from "./registry-calls.js";
import type { VerifierAlarm } from "./verifier-alarm.js";
import { isOpen, type StoredVerifier, type VerifierKey, type VerifierRecords } from "./verifier-records.js";
import type { VerifierFinding } from "./verifier-schemas.js";
import { namedVerifier, signalCountIn, takesEmptyList } from "./verifier-source.js";

interface VerifierDeploymentsOptions {
  /** How long a step goes on asking nodes that do not answer. */
  readonly nodePatienceMs: number;
  /** How long a transaction may take until it has its confirmations. */
  readonly followMs: number;
}

interface VerifierDeploymentsDependencies {
  readonly turnOf: (subject: Subject) => string;
  readonly records: VerifierRecords;
  readonly repository: Pick<ProverRepository, "find">;
  readonly contracts: Pick<VerifierContracts, "make">;
  readonly artifacts: Pick<Artifacts, "read">;
  readonly pins: Pick<KeyPins, "read">;
  readonly vault: Pick<ProverVault, "untilUnsealed">;
  /** The chain area, which is built later than the prover registry. */
  readonly chain: () => ContractPort;
  readonly checks: ContractChecks;
  readonly knownAnswers: KnownAnswers;
  readonly alarm: Pick<VerifierAlarm, "raise">;
  readonly provisioning: Pick<Provisioning, "release">;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
  readonly log: Log;
}

/** The lease under which a run works. */
interface VerifierLease {
  readonly signal: AbortSignal;
  /** Commits the results of a step with the name of the next; rejects with StoreConflict, or when the lease is lost. */
  readonly commit: (phase: string, commit?: StoreCommit) => Promise<void>;
}

type Step = (record: StoreRecord<StoredVerifier>, lease: VerifierLease) => Promise<void>;

/** Runs on every chain: later versions' PUSH0 and MCOPY do not. */
export const VERIFIER_SETTINGS: SolidityRequest["settings"] = {
  evmVersion: "paris",
  optimizerRuns: 200,
  viaIr: false,
};
/** More than the steps, some of them after conflicts: reaching it means that a step did not move the record. */
const STEPS_MAX = 32;
const FIRST_PAUSE_MS = 100;
const PAUSE_MAX_MS = 2_000;
const NODE_PAUSE_MAX_MS = 15_000;
/** Statuses from here on say that the server or a node failed, so that another try may succeed. */
const MAY_PASS = 500;

export class VerifierDeployments {
  readonly #options: VerifierDeploymentsOptions;
  readonly #with: VerifierDeploymentsDependencies;

  constructor(options: VerifierDeploymentsOptions, dependencies: VerifierDeploymentsDependencies) {
    this.#options = options;
    this.#with = dependencies;
  }

  /**
   * Runs the remaining steps. Returns when the verifier is at its end or deleted; waits while the vault is sealed;
   * rejects when a step cannot be done now, so that the queue tries again.
   */
  async run({ owner, prover_id, id }: VerifierKey, lease: VerifierLease): Promise<void> {
    for (let step = 0; step < STEPS_MAX; step += 1) {
      lease.signal.throwIfAborted();
      const record = this.#with.records.find(owner, prover_id, id);
      if (record === undefined || !isOpen(record.value.status)) return;
      try {
        await this.#stepOf(record.value)(record, lease);
      } catch (error) {
        lease.signal.throwIfAborted();
        // The record was changed or deleted meanwhile: it is read again.
        if (error instanceof StoreConflict) continue;
        if (!(error instanceof AppError) || error.status >= MAY_PASS) throw error;
        await unlessConflict(lease.commit("end", this.#failed(record, findingsOf(error))));
      }
    }
    assert(false, "every step moves the verifier");
  }

  /** Prepares the commit for when the queue gives up; undefined when the verifier is at its end or deleted. */
  failure({ owner, prover_id, id }: VerifierKey, { code, message }: JobFault): StoreCommit | undefined {
    const record = this.#with.records.find(owner, prover_id, id);
    if (record === undefined || !isOpen(record.value.status)) return undefined;
    return this.#failed(record, [{ code, message }]);
  }

  #stepOf({ status }: StoredVerifier): Step {
    const steps: Readonly<Partial<Record<StoredVerifier["status"], Step>>> = {
      queued: async (...step) => await this.#deploy(...step),
      deploying: async (...step) => await this.#follow(...step),
      checking: async (...step) => await this.#check(...step),
      registering: async (...step) => await this.#register(...step),
    };
    const step = steps[status];
    assert(step !== undefined, "an open verifier has a step");
    return step;
  }

  async #deploy(record: StoreRecord<StoredVerifier>, lease: VerifierLease): Promise<void> {
    const { value: verifier } = record;
    const { owner, name, network_id: networkId } = verifier;
    const { vault, pins, contracts, artifacts, chain, records } = this.#with;
    await vault.untilUnsealed(lease.signal);
    const prover = this.#proverOf(verifier);
    const { sha256 } = await contracts.make(prover, { subject: owner, signal: lease.signal });
    const keyHash = await pins.read(prover, "verifying_key", this.#with.turnOf(owner));
    const text = namedVerifier(Buffer.from(await artifacts.read(sha256)).toString("utf8"), { name, keyHash });
    if (takesEmptyList(text)) throw outdated();
    const signalCount = signalCountIn(text);
    const source = { sources: { [`${name}.sol`]: text }, settings: VERIFIER_SETTINGS };
    const compiled = await chain().compile(source, lease.signal);
    await this.#patiently(record, lease, async () => {
      await chain().deploy(
        owner,
        { networkId, name: compiled.name, source, compiled, signing: verifier.signer },
        ({ contractId, transactionId }) =>
          records.update(record, {
            ...this.#touched(verifier),
            ...{
              name: compiled.name,
              status: "deploying",
              key_hash: keyHash,
              expected: expectedCode(compiled.runtime),
            },
            ...{ contract_id: contractId, transaction_id: transactionId, signal_count: signalCount },
          }),
      );
    });
    this.#with.log.info("verifier deployment sent", { verifier_id: verifier.id, prover_id: prover.id });
    await lease.commit("deploying");
  }

  async #follow(record: StoreRecord<StoredVerifier>, lease: VerifierLease): Promise<void> {
    const { value: verifier } = record;
    assert(verifier.transaction_id !== null, "a verifier that is deployed has a transaction");
    const { contractAddress, gasUsed } = await this.#included(verifier, verifier.transaction_id, lease.signal);
    if (contractAddress === null)
      throw new AppError("verifier_not_deployed", { message: "the transaction made no contract" });
    const next: StoredVerifier = {
      ...this.#touched(verifier),
      status: "checking",
      address: contractAddress,
      gas: { ...verifier.gas, deployment: gasUsed },
    };
    await lease.commit("checking", this.#with.records.update(record, next));
  }

  async #check(record: StoreRecord<StoredVerifier>, lease: VerifierLease): Promise<void> {
    const { value: verifier } = record;
    const { expected, key_hash: keyHash } = verifier;
    assert(expected !== null && keyHash !== null, "a verifier that is checked was deployed");
    await this.#with.vault.untilUnsealed(lease.signal);
    const prover = this.#proverOf(verifier);
    const known = verifier.known_answer ?? (await this.#with.knownAnswers.sample(prover, lease.signal));
    const trial = { scheme: prover.proving_scheme, expected, keyHash, known, signalCount: verifier.signal_count };
    const { codeHash, gas, findings } = await this.#patiently(
      record,
      lease,
      async () => await this.#with.checks.tryOut(placeOf(verifier), trial, lease.signal),
    );
    const checked: StoredVerifier = {
      ...this.#touched(verifier),
      known_answer: known,
      code_hash: codeHash,
      gas: { ...verifier.gas, verification: gas ?? verifier.gas.verification },
      checked_at: isoTimestamp(this.#with.clock.nowMs()),
    };
    if (findings.length > 0) {
      const codes = findings.map(({ code }) => code);
      const isOther = codes.includes("verifier_code_mismatch");
      const kind = isOther ? "verifier_code_mismatch" : "verifier_disagreement";
      await this.#with.alarm.raise(verifier, kind, { findings: codes });
      await lease.commit("end", this.#ended(record, { ...checked, status: "failed", errors: [...findings] }));
    } else if (verifier.registry?.status === "waiting")
      await lease.commit("registering", this.#with.records.update(record, { ...checked, status: "registering" }));
    else await lease.commit("end", this.#ended(record, { ...checked, status: endOf(checked), errors: [] }));
  }

  async #register(record: StoreRecord<StoredVerifier>, lease: VerifierLease): Promise<void> {
    const { value: verifier } = record;
    const { registry, owner, network_id: networkId, signer, address, key_hash: keyHash } = verifier;
    const { chain, records, checks } = this.#with;
    assert(registry !== null && address !== null && keyHash !== null, "a checked verifier is registered");
    const at = chain().contract(owner, registry.contract_id).address;
    if (at === null) throw new AppError("contract_not_deployed", { message: "the registry is not deployed" });
    const entry = { proverId: verifier.prover_id, address, keyHash };
    if (registry.transaction_id === null) {
      await this.#with.vault.untilUnsealed(lease.signal);
      const call = { networkId, contractId: registry.contract_id, to: at, data: registrationCall(entry) };
      await this.#patiently(record, lease, async () => {
        await chain().send(owner, { ...call, signing: signer }, (id) =>
          records.update(record, { ...this.#touched(verifier), registry: { ...registry, transaction_id: id } }),
        );
      });
      await lease.commit("registration sent");
      return;
    }
    await this.#included(verifier, registry.transaction_id, lease.signal);
    const isThere = await this.#patiently(
      record,
      lease,
      async () => await registeredIn(checks, { ...placeOf(verifier), address: at }, { entry, signal: lease.signal }),
    );
    if (!isThere) throw new AppError("conflict", { message: "the registry names another verifier for the prover" });
    const done: StoredVerifier = { ...this.#touched(verifier), registry: { ...registry, status: "registered" } };
    await lease.commit("end", this.#ended(record, { ...done, status: endOf(done), errors: [] }));
  }

  /** Waits until a transaction has the verifier's confirmations. Throws `verifier_not_deployed` when it fails. */
  async #included(
    { owner, confirmations, updated_at }: StoredVerifier,
    transactionId: string,
    signal: AbortSignal,
  ): Promise<FollowedTransaction> {
    const { chain, clock } = this.#with;
    const endMs = Date.parse(updated_at) + this.#options.followMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
      const transaction = chain().transaction(owner, transactionId);
      const { state, isFinal, reason } = transaction;
      if (state === "included" && (isFinal || transaction.confirmations >= confirmations)) return transaction;
      if (state === "failed")
        throw new AppError("verifier_not_deployed", { message: reason ?? "the transaction failed" });
      if (clock.nowMs() > endMs)
        throw new AppError("verifier_not_deployed", {
          message: "the transaction has not got its confirmations in time; when it has, ask for the checks again",
        });
      await pause(pauseMs, undefined, { signal, ref: false });
    }
  }

  /**
   * Repeats what asks nodes while they do not answer. The record says why, which ends the step once with StoreConflict:
   * it begins again with the record as it is then.
   */
  async #patiently<T>(
    record: StoreRecord<StoredVerifier>,
    { signal, commit }: VerifierLease,
    work: () => Promise<T>,
  ): Promise<T> {
    const { value: verifier, key } = record;
    const endMs = this.#with.clock.monotonicMs() + this.#options.nodePatienceMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, NODE_PAUSE_MAX_MS)) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        const isOfNode = error instanceof AppError && error.status >= MAY_PASS && error.code.startsWith("network_");
        if (!isOfNode) throw error;
        // It is the last word: trying the job again would wait as long once more.
        if (this.#with.clock.monotonicMs() > endMs) throw unanswered(error);
        if (verifier.errors.length === 0) {
          const errors = [{ code: error.code, message: `waits for the network's node: ${error.message}` }];
          await commit("waiting for a node", this.#with.records.update(record, { ...this.#touched(verifier), errors }));
          throw new StoreConflict(key);
        }
      }
      await pause(pauseMs, undefined, { signal, ref: false });
    }
  }

  #proverOf({ owner, prover_id }: StoredVerifier): StoredProver {
    const found = this.#with.repository.find(owner, prover_id);
    // Its verifiers were deleted in the same commit.
    if (found === undefined) throw new StoreConflict([prover_id]);
    return found.value;
  }

  /**
   * Registering is an extra: a verifier whose registration fails is ready all the same, and says what failed. One that
   * could not be checked again is what it was before, as nothing was found of it.
   */
  #failed(record: StoreRecord<StoredVerifier>, findings: readonly VerifierFinding[]): StoreCommit {
    const verifier = this.#touched(record.value);
    if (verifier.status !== "registering" || verifier.registry === null)
      return this.#ended(record, { ...verifier, status: verifier.usable_as ?? "failed", errors: [...findings] });
    const errors = findings.map(({ code, message }) => ({ code, message: `not registered: ${message}` }));
    const registry = { ...verifier.registry, status: "failed" as const };
    return this.#ended(record, { ...verifier, status: endOf(verifier), registry, errors });
  }

  /** The end of the work, of which the prover hears that waits for it. */
  #ended(record: StoreRecord<StoredVerifier>, next: StoredVerifier): StoreCommit {
    const { records, events, provisioning } = this.#with;
    const { is_planned, usable_as: _usable, ...ended } = next;
    const { owner, prover_id, id, errors, status } = ended;
    const problem =
      status === "failed"
        ? diagnostic(
            "verifier_not_deployed",
            `the verifier on network ${ended.network_id} was not deployed: ${errors[0]?.message ?? "it failed"}. The prover can be used; POST /provers/:id/verifiers deploys another`,
          )
        : undefined;
    return mergeCommits(
      records.update(record, ended),
      events.commitOf(verifierMoved(owner, ended)),
      is_planned === true ? provisioning.release({ owner, proverId: prover_id, verifierId: id, problem }) : {},
    );
  }

  /** Ends what was waited for. Each change gets a later `updated_at`, also where the clock stepped back. */
  #touched(verifier: StoredVerifier): StoredVerifier {
    const afterMs = Date.parse(verifier.updated_at) + 1;
    return { ...verifier, errors: [], updated_at: isoTimestamp(Math.max(this.#with.clock.nowMs(), afterMs)) };
  }
}

function outdated(): AppError {
  return new AppError("prover_unsupported", {
    message:
      "verifier.sol of this prover is of an earlier version, whose contracts without public signals do not compile. Create the prover again",
  });
}

function endOf({ known_answer: known }: StoredVerifier): "ready" | "unproven" {
  return known === null ? "unproven" : "ready";
}

function findingsOf({ details }: AppError): VerifierFinding[] {
  return details.map(({ message, code }) => ({ message, code }));
}

/** What changed meanwhile is read again. */
async function unlessConflict(commit: Promise<void>): Promise<void> {
  try {
    await commit;
  } catch (error) {
    if (!(error instanceof StoreConflict)) throw error;
  }
}

function unanswered(error: AppError): AppError {
  return new AppError("verifier_not_checked", { message: `no node answered in time: ${error.message}`, cause: error });
}

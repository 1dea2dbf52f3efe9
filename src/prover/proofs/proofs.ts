/**
 * Proving, verifying and the notes of proofs. The thread pools compute, and the vault opens key material. A proof is
 * returned only after its note and record are on disk.
 */
import { AppError, assert, invalidMember } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { StreamedBody } from "../../platform/contract/streamed-body.js";
import { RefusedItem } from "../../platform/contract/refused-item.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import type { ResidentBytes } from "../compute/keys/resident-bytes.js";
import type { ProveValue, TaskFailure, TaskResult, UncheckedClaim, VerifyValue } from "../../engine/protocol.js";
import { builtProver, readyProver, requireProvisioned } from "../built-prover.js";
import type { Catalog } from "../catalog.js";
import type { ClosedRequest } from "../closed-inputs/closed-inputs.js";
import { isVerifierOnly } from "../imports/import-files.js";
import type { ProveRequest, ReadyProver } from "../providers/provider.js";
import type { KeyPins } from "../provisioning/key-pins.js";
import { boundedMeta } from "../labels/labels.js";
import type { Meta } from "../labels/label-schemas.js";
import type { Right } from "../sharing/grants.js";
import type { Admission } from "../sharing/prover-access.js";
import { verifierCalldata } from "../on-chain/verifier-calldata.js";
import type { StoredProver } from "../repository.js";
import type { Note, ProofItem, ProveResult } from "../schemas.js";
import type { Appended } from "../stores/pending-append.js";
import type { SpendPlan, SpendRequest, Spends } from "../stores/spending.js";
import type { AgreeingContract, Attestation, Decision, NotePlace } from "./attestation.js";
import { readClaim } from "./claims.js";
import type { KeptAlong } from "./kept-along.js";
import type { KeyImageMarks } from "./key-image-marks.js";
import { ProofKeeping, type KeptProof, type ProofKeepingDependencies, type Proven } from "./proof-keeping.js";
import type { ProofPace } from "./proof-pace.js";
import { WitnessFiles } from "./witness-files.js";

/** What of a verified proof is on disk. */
interface Kept {
  readonly note?: NotePlace | undefined;
  readonly spent?: Appended["spent"];
}

/** Of a proof that is neither stored nor spends anything. */
const NOTHING_KEPT: Kept = {};

interface ProofsOptions {
  /** Time that one proof may take, waiting for a thread included. */
  readonly proveDeadlineMs: number;
  readonly verifyDeadlineMs: number;
}

interface ProofsDependencies extends ProofKeepingDependencies {
  /** The providers, which prove and verify. */
  readonly catalog: Catalog;
  readonly artifacts: Pick<Artifacts, "read" | "readShared" | "resolve">;
  /** What vaults know of the images of open keys; none are kept unless given. */
  readonly keyImages?: KeyImageMarks | undefined;
  /** The name under which a subject's work waits for its turn. */
  readonly turnOf: (subject: Subject) => string;
  readonly resident: ResidentBytes;
  readonly pins: KeyPins;
  /** Told how long each proof took. */
  readonly pace: Pick<ProofPace, "measure">;
}

/** What a caller wants proven. */
interface ProofRequest extends Omit<ProveRequest, "closed" | "references">, Attested {
  readonly closed?: ClosedRequest | undefined;
  readonly spend?: SpendRequest;
  readonly meta?: Meta;
  readonly signal: AbortSignal;
  /** Time for the proof itself, waiting for a thread included; that of a request unless given. */
  readonly deadlineMs?: number;
  /** What is kept in the proof's own commit. */
  readonly along?: KeptAlong;
}

/** What the items of a batch may spend, and who is told of each. */
interface BatchSpend {
  /** Of the items that say nothing else. */
  readonly nullifier?: string | boolean | undefined;
  readonly mayCreate: boolean;
  readonly onSpent: (index: number, spent: Appended["spent"]) => void;
}

/** An item of a batch that can be verified. */
interface ReadItem {
  readonly claim: UncheckedClaim;
  readonly plan: SpendPlan | undefined;
}

/** A batch between its slices. */
interface RunningBatch extends Attested {
  readonly caller: Subject;
  readonly admission: Admission;
  readonly ready: ReadyProver;
  readonly verifyingKeySha256: string;
  readonly spend?: BatchSpend;
  readonly signal: AbortSignal;
  /** Whether anything of an item is spent: then no failure may hide it. */
  hasSpent: boolean;
}

/** Who is told of decisions beside the caller. */
interface Attested {
  readonly attest?: Attestation;
}

export class Proofs {
  readonly #options: ProofsOptions;
  readonly #with: ProofsDependencies;
  readonly #files = new WitnessFiles();
  readonly #keeping: ProofKeeping;

  constructor(options: ProofsOptions, dependencies: ProofsDependencies) {
    this.#options = options;
    this.#with = dependencies;
    this.#keeping = new ProofKeeping(dependencies);
  }

  /**
   * Makes a proof, checks it and stores its note.
   * @param request.inputs the caller's named inputs, unchecked
   * @param request.witnessFile in their place: a whole witness, such as snarkjs' `.wtns` file, unchecked
   * @param request.closed inputs that the proving thread alone opens: all of them, or what `inputs` names in vaults
   * @param request.meta free data of the proof's record
   * @param request.spend what the proof spends, in the commit that stores it
   * @param request.attest called with the decision, before and after it is stored
   * @throws AppError `not_found`, `forbidden`, `prover_not_provisioned`, `invalid_request`, `witness_missing`,
   *   `witness_invalid`, `constraints_unsatisfied`, `proof_self_check_failed`, `artifact_corrupt`,
   *   `prover_verifies_only`, `decryption_failed`, `note_double_spend`, and what closed inputs, pools, vault and
   *   store throw
   */
  async prove(caller: Subject, id: string, asked: ProofRequest): Promise<ProveResult> {
    const { signal, meta: said, closed, attest, along, deadlineMs, spend = { mayCreate: true }, ...request } = asked;
    const admission = this.admit(caller, id, asked);
    const { prover } = admission;
    const turn = this.#with.turnOf(caller);
    const meta = boundedMeta(said);
    const [provingKeySha256, verifyingKeySha256] = await Promise.all([
      this.#with.pins.read(prover, "proving_key", turn),
      this.#with.pins.read(prover, "verifying_key", turn),
    ]);
    await attest?.begin(prover, { isBatch: false });
    const pinned = { proving_key: provingKeySha256, "verifying_key.json": verifyingKeySha256 };
    const provider = this.#with.catalog.providerOf(prover);
    if (closed !== undefined && provider.takesClosedInputs !== true)
      throw invalidMember("witness", `provers of ${provider.name} take no closed inputs`);
    const ready = this.#ready(prover, pinned);
    const plan = await this.#with.spending.plan(caller, admission, spend, { built: ready, isVerified: false });
    const options = { owner: turn, signal, deadlineMs: deadlineMs ?? this.#options.proveDeadlineMs };
    const result = await withClosed(closed, admission, async (part) => {
      return await provider.prove(ready, { ...request, ...part }, options);
    });
    if (!result.ok) throw admission.isOwner ? taskError(result) : taskError(withoutSource(result));
    const { proof, publicSignals, timings } = result.value;
    this.#with.pace.measure(prover, timings.witnessMs + timings.proveMs + timings.checkMs);
    const keys = { verifyingKeySha256, provingKeySha256 };
    const decision: Decision = { action: "prove", result: true, admission, ready, proof, publicSignals, ...keys };
    await attest?.confirm(decision);
    const forms = formsOf(result.value, prover.proving_scheme);
    const { record, spent } = await this.#keeping.store(caller, admission, {
      ...{ proof, meta, publicSignals, verifyingKeySha256, plan, onSpent: spend.onSpent },
      ...{ along, forms: { ...forms, ...attest?.confirmed() } },
      origin: "prove",
      timings: {
        witness_ms: round(timings.witnessMs),
        prove_ms: round(timings.proveMs),
        check_ms: round(timings.checkMs),
      },
    });
    const note = this.#keeping.noteAt(caller, id, record.note_index);
    await attest?.sign([{ ...decision, spent }], { isAnything: true, note });
    return { proof, ...record, ...forms };
  }

  /**
   * Returns the caller's right to make a proof that is asked for, as far as it shows before anything is computed.
   * @throws AppError as `prove`
   */
  admit(
    caller: Subject,
    id: string,
    { meta, format, ...request }: Pick<ProofRequest, "inputs" | "witnessFile" | "closed" | "meta" | "format">,
  ): Admission {
    const admission = this.requireProver(caller, id);
    boundedMeta(meta);
    this.#requireForm(admission.prover, format);
    requireOneWitness(request);
    return admission;
  }

  /**
   * Returns the caller's right to prove with a prover.
   * @throws AppError `not_found`, `forbidden`, `prover_not_provisioned`, `prover_verifies_only`
   */
  requireProver(caller: Subject, id: string): Admission {
    const admission = this.#admit(caller, id, "prove");
    if (isVerifierOnly(admission.prover)) throw verifiesOnly();
    return admission;
  }

  /**
   * Makes a proof of a whole witness that is still on its way; otherwise as `prove`.
   * @throws AppError what `prove` and `WitnessFiles.hold` throw
   */
  async proveFile(
    caller: Subject,
    id: string,
    { body, ...request }: Pick<ProofRequest, "format" | "signal"> & { readonly body: StreamedBody },
  ): Promise<ProveResult> {
    const { prover } = this.#admit(caller, id, "prove");
    const provider = this.#with.catalog.providerOf(prover);
    if (isVerifierOnly(prover)) throw verifiesOnly();
    if (provider.witnessFileBytes === undefined)
      throw invalidMember("witness_file", `provers of ${provider.name} take no witness files`);
    const bytesMax = await provider.witnessFileBytes(
      builtProver(prover, this.#with.catalog.systemOf(prover), this.#with),
    );
    return await this.#files.hold(caller, { body, bytesMax }, async (witnessFile) => {
      return await this.prove(caller, id, { ...request, inputs: undefined, witnessFile });
    });
  }

  /**
   * Returns whether the proof is valid for the public members of the inputs; with `store`, a valid proof gets a note.
   * What it spends is spent in the same commit, before true is returned; an invalid proof spends nothing.
   * @throws AppError `forbidden` for `store` or spending by one who may verify only, `proof_malformed`,
   *   `witness_missing`, `witness_invalid`, `note_double_spend`, and as `prove`
   */
  async verify(
    caller: Subject,
    id: string,
    request: Attested & {
      readonly item: ProofItem;
      readonly store: boolean;
      /** Another verifier, which is asked as well; what it throws ends the request before anything is stored. */
      readonly confirm?: ((checked: VerifyValue) => Promise<AgreeingContract>) | undefined;
      readonly signal: AbortSignal;
      readonly spend?: Pick<SpendRequest, "mayCreate" | "onSpent">;
    },
  ): Promise<boolean> {
    const { attest } = request;
    const verifying = this.#admit(caller, id, "verify");
    const { prover } = verifying;
    if (request.store && this.#with.access.find(caller, id, "prove") === undefined)
      throw new AppError("forbidden", { message: "this prover is shared for verification, without storing" });
    const meta = boundedMeta(request.store ? request.item.meta : undefined);
    const claim = readClaim(request.item, id);
    if (claim instanceof AppError) throw claim;
    const verifyingKeySha256 = await this.#with.pins.read(prover, "verifying_key", this.#with.turnOf(caller));
    await attest?.begin(prover, { isBatch: false });
    const ready = this.#ready(prover, { "verifying_key.json": verifyingKeySha256 });
    const spend = { mayCreate: false, ...request.spend, ...spendsOf(request.item) };
    const plan = await this.#with.spending.plan(caller, verifying, spend, { built: ready, isVerified: true });
    const admission = request.store || plan !== undefined ? this.#admit(caller, id, "prove") : verifying;
    const asked = request.confirm === undefined ? claim : { ...claim, form: "solidity" as const };
    const options = { owner: this.#with.turnOf(caller), signal: request.signal };
    const checked = await this.#with.catalog
      .providerOf(prover)
      .verify(ready, asked, { ...options, deadlineMs: this.#options.verifyDeadlineMs });
    if (!checked.ok) throw taskError(checked);
    const decision: Decision = { action: "verify", ready, admission, verifyingKeySha256, ...checked.value };
    await attest?.confirm(decision);
    const contract = await request.confirm?.(checked.value);
    const { result, proof, publicSignals } = checked.value;
    const proven = { proof, publicSignals, verifyingKeySha256, plan, onSpent: spend.onSpent };
    const kept: KeptProof | undefined = request.store
      ? { ...proven, meta, origin: "verify", timings: null }
      : undefined;
    const { note, spent } = result ? await this.#keep(caller, admission, proven, kept) : NOTHING_KEPT;
    const isAnything = note !== undefined || spent !== undefined;
    if (!isAnything) admission.requireStill();
    const outcome = { ...(spent === undefined ? {} : { spent }), ...(contract === undefined ? {} : { contract }) };
    await attest?.sign([{ ...decision, ...outcome }], { isAnything, note });
    return result;
  }

  /** Stores a valid proof, or spends what it spends, or neither. */
  async #keep(caller: Subject, admission: Admission, proven: Proven, kept: KeptProof | undefined): Promise<Kept> {
    if (kept !== undefined) {
      const { record, spent } = await this.#keeping.store(caller, admission, kept);
      return { note: this.#keeping.noteAt(caller, admission.prover.id, record.note_index), spent };
    }
    if (proven.plan === undefined) return NOTHING_KEPT;
    const { spent } = await this.#keeping.spend(caller, admission, proven);
    return { spent };
  }

  /**
   * Verifies many proofs; returns true, false or the item's own error, in the order of the items. No note is stored;
   * what items spend is spent by each for itself, so that of two that spend the same the first one does. Slices run
   * one after the other, so that a single verification waits for one slice at most and a long batch takes one thread.
   * @throws AppError what concerns the prover or the pool, and so all items; once an item has spent something, it is
   *   the error of the items that are left instead
   */
  async verifyBatch(
    caller: Subject,
    id: string,
    request: Attested & {
      readonly items: readonly (ProofItem | RefusedItem)[];
      readonly signal: AbortSignal;
      readonly spend?: BatchSpend;
    },
  ): Promise<(boolean | AppError)[]> {
    const admission = this.#admit(caller, id, "verify");
    const { prover } = admission;
    await request.attest?.begin(prover, { isBatch: true });
    const verifyingKeySha256 = await this.#with.pins.read(prover, "verifying_key", this.#with.turnOf(caller));
    const ready = this.#ready(prover, { "verifying_key.json": verifyingKeySha256 });
    const batch: RunningBatch = { ...request, ...{ caller, admission, ready, verifyingKeySha256 }, hasSpent: false };
    const results: (boolean | AppError)[] = [];
    const { verifySliceItems } = ready.system;
    for (let start = 0; start < request.items.length; start += verifySliceItems) {
      try {
        results.push(...(await this.#runSlice(batch, request.items.slice(start, start + verifySliceItems), start)));
      } catch (error) {
        if (!batch.hasSpent || !(error instanceof AppError)) throw error;
        // What was spent is told; the items that are left can be sent again.
        return [...results, ...request.items.slice(start).map(() => error)];
      }
    }
    return results;
  }

  /**
   * Verifies one slice of a batch, spends what its valid items spend, and has their receipts signed.
   * @param start index of the slice's first item
   */
  async #runSlice(
    batch: RunningBatch,
    items: readonly (ProofItem | RefusedItem)[],
    start: number,
  ): Promise<(boolean | AppError)[]> {
    const { caller, admission, ready, verifyingKeySha256, spend } = batch;
    const slice = await Promise.all(
      items.map(async (item) => await this.#readItem(caller, admission, item, { ready, spend })),
    );
    const outcomes = await this.#verifySlice(caller, admission, slice, batch);
    const spent = new Map<number, Appended["spent"]>();
    // All at once, so that they share commits; they are queued in their order.
    const finished = await Promise.all(
      outcomes.map(async ({ outcome, plan }, offset) => {
        if (outcome instanceof AppError) return outcome;
        return await this.#finishItem(caller, admission.prover.id, { plan, outcome, verifyingKeySha256 }, (keys) => {
          batch.hasSpent = true;
          spent.set(offset, keys);
          spend?.onSpent(start + offset, keys);
        });
      }),
    );
    const shared = { action: "verify", ready, admission, verifyingKeySha256 } as const;
    await batch.attest?.sign(
      outcomes.map(({ outcome }, offset) => {
        if (finished[offset] instanceof AppError || outcome instanceof AppError || !outcome.ok) return undefined;
        const keys = spent.get(offset);
        return { ...shared, ...outcome.value, ...(keys === undefined ? {} : { spent: keys }) };
      }),
      { isAnything: batch.hasSpent },
    );
    return finished;
  }

  /** Verifies what can be verified of a slice; returns an outcome for each item. */
  async #verifySlice(
    caller: Subject,
    admission: Admission,
    slice: readonly (ReadItem | AppError)[],
    { ready, signal }: { readonly ready: ReadyProver; readonly signal: AbortSignal },
  ): Promise<{ readonly outcome: TaskResult<VerifyValue> | AppError; readonly plan?: SpendPlan | undefined }[]> {
    signal.throwIfAborted();
    const claims = slice.flatMap((item) => (item instanceof AppError ? [] : [item.claim]));
    const options = { owner: this.#with.turnOf(caller), signal, deadlineMs: this.#options.verifyDeadlineMs };
    const checked = await this.#with.catalog.providerOf(admission.prover).verifyBatch(ready, claims, options);
    admission.requireStill();
    if (!checked.ok) throw taskError(checked);
    const outcomes = checked.value.outcomes.values();
    return slice.map((item) => {
      if (item instanceof AppError) return { outcome: item };
      const { value: outcome } = outcomes.next();
      assert(outcome !== undefined, "each item has an outcome");
      return { outcome, plan: item.plan };
    });
  }

  /** Reads an item of a batch, and what it spends; returns what is wrong with it. */
  async #readItem(
    caller: Subject,
    admission: Admission,
    item: ProofItem | RefusedItem,
    { ready, spend }: { readonly ready: ReadyProver; readonly spend: BatchSpend | undefined },
  ): Promise<ReadItem | AppError> {
    const claim = readClaim(item, admission.prover.id);
    if (claim instanceof AppError || item instanceof RefusedItem) return asError(claim);
    const { nullifier = spend?.nullifier, spends } = spendsOf(item);
    const wanted = { nullifier, spends, mayCreate: spend?.mayCreate ?? false };
    try {
      const plan = await this.#with.spending.plan(caller, admission, wanted, { built: ready, isVerified: true });
      return { claim, plan };
    } catch (error) {
      return asError(error);
    }
  }

  /** Spends what a valid item of a batch spends, and returns its result. */
  async #finishItem(
    caller: Subject,
    id: string,
    item: {
      readonly plan: SpendPlan | undefined;
      readonly outcome: TaskResult<VerifyValue>;
      readonly verifyingKeySha256: string;
    },
    onSpent: (spent: Appended["spent"]) => void,
  ): Promise<boolean | AppError> {
    const { plan, outcome, verifyingKeySha256 } = item;
    if (!outcome.ok) return taskError(outcome);
    if (!outcome.value.result || plan === undefined) return outcome.value.result;
    const { proof, publicSignals } = outcome.value;
    try {
      const admission = this.#admit(caller, id, "prove");
      await this.#keeping.spend(caller, admission, { proof, publicSignals, verifyingKeySha256, plan, onSpent });
      return true;
    } catch (error) {
      return asError(error);
    }
  }

  /**
   * Returns a note; see `ProofKeeping.note`.
   * @throws AppError `not_found`, `data_corrupt`
   */
  async note(caller: Subject, id: string, index: number): Promise<Note> {
    return await this.#keeping.note(caller, id, index);
  }

  #ready(prover: StoredProver, pinned: Parameters<typeof readyProver>[2]["pinned"]): ReadyProver {
    return readyProver(prover, this.#with.catalog.systemOf(prover), { ...this.#with, pinned });
  }

  #requireForm(prover: StoredProver, format: ProveRequest["format"]): void {
    if (format === undefined || this.#with.catalog.systemOf(prover).forms.includes(format)) return;
    const message =
      format === "solidity"
        ? `proofs over ${prover.curve} have no form for Solidity`
        : `proofs of ${prover.proving_scheme} have no form of ${format}`;
    throw invalidMember("format", message);
  }

  #admit(caller: Subject, id: string, right: Right): Admission {
    const admission = this.#with.access.require(caller, id, right);
    requireProvisioned(admission.prover);
    return admission;
  }
}

/** The inputs come named, encrypted, or some so and some so; or in their place a whole witness. */
function requireOneWitness({
  inputs,
  witnessFile,
  closed,
}: Pick<ProofRequest, "inputs" | "witnessFile" | "closed">): void {
  const hasInputs = inputs !== undefined || closed?.isToken === true;
  if (!hasInputs && witnessFile === undefined) throw witnessMissing("witness required for proof generation");
  if (hasInputs && witnessFile !== undefined)
    throw invalidMember("witness_file", "give either witness_file, or witness and witness_jwe");
}

/**
 * Proves while closed inputs are given to the thread that asks for them.
 * @throws AppError why it got none
 */
async function withClosed(
  closed: ClosedRequest | undefined,
  admission: Admission,
  prove: (part: Pick<ProveRequest, "closed" | "references">) => Promise<TaskResult<ProveValue>>,
): Promise<TaskResult<ProveValue>> {
  if (closed === undefined) return await prove({});
  const work = await closed.begin(admission);
  try {
    const result = await prove({ closed: work.message, references: closed.references });
    const failure = work.failure();
    if (!result.ok && failure !== undefined) throw failure;
    return result;
  } finally {
    work.end();
  }
}

function spendsOf({ nullifier, spends }: ProofItem): Spends {
  return { ...(nullifier === undefined ? {} : { nullifier }), ...(spends === undefined ? {} : { spends }) };
}

/** Returns a failure that concerns one item; rethrows any other. */
function asError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

function witnessMissing(message: string): AppError {
  return invalidMember("witness", message, "witness_missing");
}

function verifiesOnly(): AppError {
  return new AppError("prover_verifies_only", {
    message: "the prover was made of a verifying key alone and proves nothing",
  });
}

/** Returns what a failed task answers. */
export function taskError(failure: TaskFailure): AppError {
  return new AppError(failure.code, {
    message: failure.message,
    ...(failure.details === undefined ? {} : { details: failure.details }),
  });
}

/** Who does not own the prover never sees its source, nor the places in it that a failing assertion names. */
function withoutSource(failure: TaskFailure): TaskFailure {
  if (failure.code !== "constraints_unsatisfied") return failure;
  return { ok: false, code: failure.code, message: "the inputs do not satisfy the circuit, or it fails for them" };
}

function formsOf(
  { snarkjs, solidity, publicSignals }: ProveValue,
  scheme: string,
): Pick<ProveResult, "snarkjs" | "solidity"> {
  return {
    ...(snarkjs === undefined ? {} : { snarkjs: { proof: snarkjs, public_signals: [...publicSignals] } }),
    ...(solidity === undefined ? {} : { solidity: { ...solidity, calldata: verifierCalldata(scheme, solidity) } }),
  };
}

/** Tenths of a millisecond. */
function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}

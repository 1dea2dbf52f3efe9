/**
 * The compute tasks by name, as a worker thread runs them. Expected failures are results; a task throws only for a bug
 * or for an artifact that is not what its hash says, and the pool reports it.
 */
import { checkInputs, type InputProblem } from "./circuit/inputs.js";
import { readR1cs } from "./circuit/r1cs.js";
import { findUnsatisfied } from "./circuit/satisfaction.js";
import { readWitnessFile, WitnessFileError } from "./circuit/witness-file.js";
import { prepareMemory } from "./circuit/program-memory.js";
import { checkUnnamedInputs } from "./circuit/unnamed-inputs.js";
import { discardFasterRoutines } from "./circuit/routines/routine-use.js";
import { WitnessPrograms } from "./circuit/routines/witness-programs.js";
import { computeFromRuns, computeWitness } from "./circuit/witness.js";
import { withoutUnknownNames } from "./closed/nameless-problems.js";
import { openClosedInputs } from "./closed/open-inputs.js";
import { checkWitness, publicSignalsOf } from "./groth16/prove.js";
import { openKey, proverOf, readImage, writeImage, writeTables } from "./key-tasks.js";
import { discardWideForms, isWideOn, onTwoLanes } from "./kernels/wide/wide-form.js";
import { EMPTY_NODE, treeHasher } from "./merkle/tree-hasher.js";
import { appendNotes } from "./merkle/note-tree.js";
import { insertNullifiers, proveNotes } from "./merkle/tree-tasks.js";
import type { ProofSystem, SystemClaim } from "./proof-systems/proof-system.js";
import { proofSystem } from "./proof-systems/table.js";
import type {
  ComputeRequest,
  ComputeTasks,
  ProveMessage,
  ProveValue,
  SharedBytes,
  TaskFailure,
  TaskResult,
  VerifierContractMessage,
  VerifierContractValue,
  WarmKeyMessage,
  WarmKeyValue,
} from "./protocol.js";
import { proveZeros } from "./rehearsal.js";
import { invalidWitness, isOwnProofValid, loadVerifyingKey, verify, verifyBatch } from "./verify-tasks.js";

const WITNESS_PROGRAMS_MAX = 16;
/** Its pairing is the one that most provers use. */
const WARM_SYSTEM = "groth16/BN254";

const KEY_REQUIRED: TaskFailure = {
  ok: false,
  code: "internal_error",
  message: "the kernels made no proof, and the reference backend has not got the key",
  needsProvingKey: true,
};
const witnessPrograms = new WitnessPrograms({ max: WITNESS_PROGRAMS_MAX });

/**
 * Runs one task.
 * @throws Error when an artifact is not what its hash says, or for a bug
 */
export async function runComputeTask(
  request: ComputeRequest,
): Promise<TaskResult<ComputeTasks[keyof ComputeTasks]["value"]>> {
  switch (request.task) {
    case "warm":
      await proofSystem(WARM_SYSTEM).loadPairing(request.message.backend);
      if (request.message.withTrees) treeHasher(proofSystem(WARM_SYSTEM).curve.name).pairs([EMPTY_NODE], [EMPTY_NODE]);
      return { ok: true, value: { done: true } };
    case "open_key":
      return openKey(request.message);
    case "write_key_tables":
      return writeTables(request.message);
    case "write_key_image":
      return writeImage(request.message);
    case "read_key_image":
      return readImage(request.message);
    case "warm_key":
      return await warmKey(request.message);
    case "rehearse": {
      const { system, openKey, circuit } = request.message;
      proveZeros(system, proverOf(system, openKey), circuit);
      return { ok: true, value: { done: true } };
    }
    case "prove":
      return await prove(request.message);
    case "help": {
      const { system, openKey, team } = request.message;
      proverOf(system, openKey).help(team);
      return { ok: true, value: { done: true } };
    }
    case "verify":
      return await verify(request.message);
    case "verify_batch":
      return await verifyBatch(request.message);
    case "append_notes":
      return { ok: true, value: appendNotes(request.message) };
    case "insert_nullifiers":
      return { ok: true, value: insertNullifiers(request.message) };
    case "prove_notes":
      return { ok: true, value: proveNotes(request.message) };
    case "verifier_contract":
      return await verifierContract(request.message);
    case "cross_check": {
      // The EVM and noble take time to load, and most threads never need them.
      const { crossCheck } = await import("./assurance/cross-check.js");
      return await crossCheck(request.message);
    }
  }
}

/** Loads on this thread what proofs with the key need beside it. */
async function warmKey(message: WarmKeyMessage): Promise<TaskResult<WarmKeyValue>> {
  const { system, openKey, witnessProgram } = message;
  proverOf(system, openKey);
  await loadVerifyingKey({ ...message, backend: "wasm" });
  const { module: program, memory } = await witnessPrograms.open(witnessProgram);
  prepareMemory(program);
  return { ok: true, value: { program, ...(memory === undefined ? {} : { memory }) } };
}

async function prove(message: ProveMessage): Promise<TaskResult<ProveValue>> {
  const startedMs = performance.now();
  const computed = await witnessOf(message);
  return computed.ok ? await proveWith(message, computed, startedMs) : computed;
}

/** Proves with a witness. Before anything else is blamed, the witness is computed by circom's own routines as well. */
async function proveWith(
  message: ProveMessage,
  computed: Computed,
  startedMs: number,
): Promise<TaskResult<ProveValue>> {
  const { circuit } = message;
  const { witness } = computed;
  const witnessMs = performance.now() - startedMs;
  const system = proofSystem(message.system);
  const malformed = formFailure(system, message, witness);
  if (malformed !== undefined) {
    const sound = await otherWitness(computed);
    return sound === undefined ? malformed : await proveWith(message, sound, startedMs);
  }
  const publicCount = circuit.outputCount + circuit.publicInputCount;
  const publicSignals = publicSignalsOf({ curve: system.curve, publicCount }, witness);
  const first = proveOnKernels(message, witness);
  let { proof } = first;
  let proveMs = performance.now() - startedMs - witnessMs;
  if (proof === undefined || !(await isOwnProofValid({ ...message, backend: "wasm" }, proof, publicSignals))) {
    const sound = await otherWitness(computed);
    if (sound !== undefined) return await proveWith(message, sound, startedMs);
    // Proofs take far longer than this, and would fail as well where the caller is at fault.
    const unsatisfied = unsatisfiedFailure(message, witness);
    if (unsatisfied !== undefined) return unsatisfied;
    // A fault of the kernels costs time but no proof: two lanes, then the reference backend prove and check again.
    const againMs = performance.now();
    proof = await proveOnTwoLanes(message, witness, { first, publicSignals });
    const isSound = proof !== undefined;
    if (proof === undefined) {
      const { provingKey } = message;
      if (provingKey === undefined) return KEY_REQUIRED;
      // Read anew each time, in far less time than a proof of the reference takes: what is kept would not be counted.
      proof = await system.proveOnReference(system.readProvingKey(viewOf(provingKey)), witness);
    }
    proveMs += performance.now() - againMs;
    if (!isSound && !(await isOwnProofValid({ ...message, backend: "reference" }, proof, publicSignals)))
      return {
        ok: false,
        code: "proof_self_check_failed",
        message: "the new proof does not verify and was discarded; try again, and report it if it happens again",
      };
  }
  const checkMs = performance.now() - startedMs - witnessMs - proveMs;
  return {
    ok: true,
    value: {
      proof: system.encodeHex(proof),
      ...formOf(system, message.form, { proof, publicSignals }),
      publicSignals: publicSignals.map(String),
      timings: { witnessMs, proveMs, checkMs },
    },
  };
}

async function verifierContract(message: VerifierContractMessage): Promise<TaskResult<VerifierContractValue>> {
  const system = proofSystem(message.system);
  if (system.solidityVerifier === undefined) throw new Error(`there is no Solidity verifier of ${message.system}`);
  const verifyingKey: unknown = JSON.parse(Buffer.from(viewOf(message.verifyingKey)).toString("utf8"));
  return { ok: true, value: { source: await system.solidityVerifier(verifyingKey) } };
}

/** A witness, and how to compute it by circom's own routines where ours did. */
interface Computed {
  readonly ok: true;
  readonly witness: Uint8Array;
  readonly again?: () => Promise<Computed | TaskFailure>;
}

/** The witness of the caller's inputs, or the caller's own. */
async function witnessOf(message: ProveMessage): Promise<Computed | TaskFailure> {
  const { circuit, witnessFile } = message;
  if (witnessFile === undefined) return await computedWitness(message);
  try {
    return { ok: true, witness: readWitnessFile(witnessFile, circuit) };
  } catch (error) {
    if (!(error instanceof WitnessFileError)) throw error;
    return invalidWitness([{ message: error.message, code: "witness_invalid", path: "witness_file" }]);
  }
}

/** The witness that circom's own routines compute, where it is another one: then ours are used no more. */
async function otherWitness({ witness, again }: Computed): Promise<Computed | undefined> {
  const plain = await again?.();
  if (plain?.ok !== true || Buffer.compare(plain.witness, witness) === 0) return undefined;
  discardFasterRoutines();
  return plain;
}

/** The witness that the circuit's program computes from the caller's inputs. */
async function computedWitness({
  circuit,
  inputs: given,
  closed,
  witnessProgram,
}: ProveMessage): Promise<Computed | TaskFailure> {
  const opened = closed === undefined ? ({ ok: true, inputs: given } as const) : await openClosedInputs(closed, given);
  if (!opened.ok) return opened;
  const { inputs } = opened;
  const shown = (problems: readonly InputProblem[]): readonly InputProblem[] =>
    closed?.encrypted === undefined ? problems : withoutUnknownNames(circuit, problems);
  if (circuit.isUnnamed === true)
    return await onBothRoutines(witnessProgram, (program) => {
      const named = checkUnnamedInputs(program, circuit, inputs);
      return named.ok ? computeFromRuns(program, circuit, named.runs) : invalidWitness(shown(named.details));
    });
  const checked = checkInputs(circuit, inputs);
  if (!checked.ok) return invalidWitness(shown(checked.details));
  return await onBothRoutines(witnessProgram, (program) => computeWitness(program, circuit, checked.values));
}

/** Computes on our routines where the program takes them, and again on circom's own before inputs are refused. */
async function onBothRoutines(
  stored: SharedBytes,
  compute: (program: WebAssembly.Module) => Computed | TaskFailure,
): Promise<Computed | TaskFailure> {
  const { module, isFaster } = await witnessPrograms.open(stored);
  const computed = compute(module);
  if (!isFaster) return computed;
  const again = async (): Promise<Computed | TaskFailure> => compute(await witnessPrograms.openPlain(stored));
  if (computed.ok) return { ...computed, again };
  const plain = await again();
  if (plain.ok) discardFasterRoutines();
  return plain;
}

/**
 * The failure of a witness that is not one of the field's elements per wire, the first being one.
 * @throws WitnessFormatError for a witness that this server's own program has made
 */
function formFailure(system: ProofSystem, message: ProveMessage, witness: Uint8Array): TaskFailure | undefined {
  try {
    checkWitness({ curve: system.curve, wireCount: message.circuit.wireCount }, witness);
    return undefined;
  } catch (error) {
    const failure = unsatisfiedFailure(message, witness);
    if (failure === undefined) throw error;
    return failure;
  }
}

/**
 * The failure of a witness, or of a witness program, from outside that breaks the circuit's constraints. Asked only
 * when no sound proof came out: it takes longer than the proof, whose verification decides in any case.
 */
function unsatisfiedFailure({ r1cs }: ProveMessage, witness: Uint8Array): TaskFailure | undefined {
  const broken = r1cs === undefined ? undefined : findUnsatisfied(readR1cs(viewOf(r1cs)), witness);
  if (broken === undefined) return undefined;
  const where =
    broken < 0 ? "an element that is not in the field, or a first one that is not 1" : `constraint ${broken}`;
  return {
    ok: false,
    code: "constraints_unsatisfied",
    message: `the witness does not satisfy the circuit: ${where}`,
  };
}

function formOf(
  system: ProofSystem,
  form: ProveMessage["form"],
  { proof, publicSignals }: SystemClaim,
): Pick<ProveValue, "snarkjs" | "solidity"> {
  if (form === "snarkjs") return { snarkjs: system.toJson(proof) };
  if (form === "solidity" && system.solidityArguments !== undefined)
    return { solidity: system.solidityArguments(proof, publicSignals) };
  return {};
}

/** A proof that the kernels made, if they did, and whether they may have computed it wrongly on four lanes. */
interface KernelAttempt {
  readonly proof: object | undefined;
  readonly isWideSuspect: boolean;
}

/** The proof is undefined when the key is not open, or the kernels fail. */
function proveOnKernels({ system, openKey, team }: ProveMessage, witness: Uint8Array): KernelAttempt {
  const wasWide = isWideOn();
  let hasTrapped = false;
  if (openKey === undefined) return { proof: undefined, isWideSuspect: false };
  // A proof that lost a helper is made again without helpers, from the start and with other blinding.
  for (const helpers of team === undefined ? [undefined] : [team, undefined]) {
    try {
      return { proof: proverOf(system, openKey).prove(witness, helpers), isWideSuspect: wasWide };
    } catch (error) {
      // No free workspace, a trap, or a witness that breaks the circuit: the caller finds out.
      hasTrapped ||= error instanceof WebAssembly.RuntimeError;
    }
  }
  return { proof: undefined, isWideSuspect: wasWide && hasTrapped };
}

/**
 * Makes again on two lanes what may have gone wrong on four, without helpers, whose threads would take four. A valid
 * proof shows that it did, and the process takes four lanes no more. Undefined when there is no such proof.
 */
async function proveOnTwoLanes(
  message: ProveMessage,
  witness: Uint8Array,
  { first, publicSignals }: { readonly first: KernelAttempt; readonly publicSignals: readonly bigint[] },
): Promise<object | undefined> {
  if (!first.isWideSuspect) return undefined;
  const { team: _team, ...alone } = message;
  const { proof } = onTwoLanes(() => proveOnKernels(alone, witness));
  if (proof === undefined || !(await isOwnProofValid({ ...message, backend: "wasm" }, proof, publicSignals)))
    return undefined;
  discardWideForms();
  return proof;
}

function viewOf(shared: SharedBytes): Uint8Array {
  return new Uint8Array(shared.bytes);
}

/**
 * What the prover registry needs computed, as one interface: compilation and setup in processes of their own, proofs
 * and verification on the lanes. Expected failures are unions; what rejects is capacity (`overloaded`), time
 * (`deadline_exceeded`), the caller's abort, or a fault.
 */
import type {
  AppendNotesMessage,
  AppendNotesValue,
  ProveMessage,
  ProveValue,
  TaskResult,
  VerifyBatchMessage,
  VerifyBatchValue,
  VerifyMessage,
  VerifyValue,
} from "../../engine/protocol.js";
import type { CircuitInterface } from "../../engine/circuit/interface.js";
import type { Finding } from "../schemas.js";
import type { CircuitSource } from "../provisioning/sources.js";

export interface ComputeOptions {
  readonly signal?: AbortSignal;
  readonly deadlineMs?: number;
  /** Told how much of a long step is done, 0 to 1. */
  readonly onProgress?: (share: number) => void;
}

/** The files that compiling gave. */
export interface Compilation {
  /** WebAssembly. */
  readonly witnessProgram: Uint8Array;
  readonly r1cs: Uint8Array;
  readonly sym: Uint8Array;
  readonly circuit: CircuitInterface;
  readonly warnings: readonly Finding[];
}

export type CompileOutcome =
  | { readonly ok: true; readonly value: Compilation }
  | { readonly ok: false; readonly errors: readonly Finding[]; readonly warnings: readonly Finding[] };

/** The keys that a setup made, not yet trusted. */
export interface SetupKeys {
  /** snarkjs `.zkey`. */
  readonly provingKey: Uint8Array;
  /** snarkjs verification key, JSON text. */
  readonly verifyingKey: string;
}

/** A step that failed for a reason that trying again would not change. */
export interface StepFailure {
  readonly ok: false;
  readonly errors: readonly Finding[];
}

/** A stored file with the content that its hash names. */
export interface StoredFile {
  readonly path: string;
  /** Lower-case hex. */
  readonly sha256: string;
}

export interface GatesInput {
  readonly r1cs: StoredFile;
  readonly provingKey: StoredFile;
  readonly verifyingKey: StoredFile;
  /**
   * Inputs that satisfy the circuit, where it comes with some: an honest proof of them is tried too. Built-in circuits
   * only.
   */
  readonly example?: {
    readonly circuit: CircuitInterface;
    readonly witnessProgram: StoredFile;
    readonly inputs: unknown;
  };
}

export interface PassedGates {
  /** Source of a Solidity contract that verifies proofs of this key. */
  readonly verifierContract: string;
}

export interface ProverCompute {
  /**
   * Names everything that decides what compiling a source gives, beside the source: compiler, version, flags, limits of
   * the format.
   */
  readonly compilerName: string;
  /** Compiles untrusted source. Never rejects for what the source does. */
  compile(source: CircuitSource, options?: ComputeOptions): Promise<CompileOutcome>;
  /** Makes fresh keys; no two calls give the same. */
  setup(
    r1cs: Uint8Array,
    options?: ComputeOptions,
  ): Promise<{ readonly ok: true; readonly value: SetupKeys } | StepFailure>;
  /** All setup gates of security 2.12 on the stored keys, the canary forgery among them. */
  gates(
    input: GatesInput,
    options?: ComputeOptions,
  ): Promise<{ readonly ok: true; readonly value: PassedGates } | StepFailure>;
  prove(message: ProveMessage, options?: ComputeOptions): Promise<TaskResult<ProveValue>>;
  verify(message: VerifyMessage, options?: ComputeOptions): Promise<TaskResult<VerifyValue>>;
  /** Many proofs of one key; the lane is taken for all of them at once. */
  verifyBatch(message: VerifyBatchMessage, options?: ComputeOptions): Promise<TaskResult<VerifyBatchValue>>;
  appendNotes(message: AppendNotesMessage, options?: ComputeOptions): Promise<AppendNotesValue>;
}

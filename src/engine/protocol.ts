/**
 * What crosses the thread boundary: the name of each compute task with its message and its result. Results are unions,
 * because the class and the code of a thrown error are lost on the way between threads. Types only; both sides import
 * this file.
 */
import type { CircuitInterface } from "./circuit/interface.js";
import type { ResidentKey } from "./kernels/groth16/resident-key.js";
import type { NoteTreeNode, NoteTreeState } from "./merkle/note-tree.js";

/**
 * Bytes that several threads read: one copy in memory, named by content so that a worker can keep what it parsed from
 * them.
 */
export interface SharedBytes {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly bytes: SharedArrayBuffer;
}

export interface TaskFailureDetail {
  readonly message: string;
  readonly code: string;
  readonly path?: string;
}

/** An expected failure of a task. */
export interface TaskFailure {
  readonly ok: false;
  readonly code:
    "witness_invalid" | "constraints_unsatisfied" | "proof_malformed" | "proof_self_check_failed" | "artifact_corrupt";
  readonly message: string;
  readonly details?: readonly TaskFailureDetail[];
}

export type TaskResult<Value> = { readonly ok: true; readonly value: Value } | TaskFailure;

export interface ProveMessage {
  readonly circuit: CircuitInterface;
  /** The circuit's witness program (WebAssembly). */
  readonly witnessProgram: SharedBytes;
  /** snarkjs `.zkey` of a Groth16 key. */
  readonly provingKey: SharedBytes;
  /** The same key as the WebAssembly kernels want it (task `open_key`); without it the reference backend proves. */
  readonly openKey?: OpenKey;
  /** Memory of the team that helpers of this proof may join (kernels/groth16/thread-team.ts); for this one attempt. */
  readonly team?: SharedArrayBuffer;
  /** snarkjs verification key as JSON text; every proof is checked against it before it is answered. */
  readonly verifyingKey: SharedBytes;
  /** The caller's inputs as parsed JSON, not yet checked. */
  readonly inputs: unknown;
}

export interface ProveValue {
  /** gnark's compressed form, lower-case hex. */
  readonly proof: string;
  readonly proofJson: Groth16ProofJson;
  /** Outputs, then public inputs, in circuit order; decimal. */
  readonly publicSignals: readonly string[];
  readonly timings: { readonly witnessMs: number; readonly proveMs: number; readonly checkMs: number };
}

/** The proof object of snarkjs; coordinates decimal, G2 as [c0, c1]. */
export interface Groth16ProofJson {
  readonly pi_a: readonly string[];
  readonly pi_b: readonly (readonly string[])[];
  readonly pi_c: readonly string[];
  readonly protocol: "groth16";
  readonly curve: string;
}

/** A key in the kernels' form, in memory that all threads share. */
export interface OpenKey {
  /** Names this opening: a key that is opened again has other memory. */
  readonly id: string;
  readonly key: ResidentKey;
}

export interface OpenKeyMessage {
  readonly provingKey: SharedBytes;
  /** Proofs that may be under way at once. */
  readonly workspaces: number;
}

/** Help with a proof that another thread leads. */
export interface HelpMessage {
  readonly openKey: OpenKey;
  readonly team: SharedArrayBuffer;
}

/**
 * What computes pairings: our WebAssembly kernels, which give way to the reference backend when they fail, or that one
 * alone.
 */
export type PairingBackend = "wasm" | "reference";

export interface VerifyMessage {
  readonly circuit: CircuitInterface;
  readonly verifyingKey: SharedBytes;
  /** "reference" unless given. */
  readonly backend?: PairingBackend;
  /** The caller's inputs; public members only are read. */
  readonly inputs: unknown;
  /** Hex in gnark's compressed form (with or without 0x), or a snarkjs proof object. */
  readonly proof: unknown;
}

export interface VerifyValue {
  readonly result: boolean;
  /** Canonical hex of the proof, whatever form came in. */
  readonly proof: string;
  readonly publicSignals: readonly string[];
}

export interface VerifyBatchMessage extends Pick<VerifyMessage, "circuit" | "verifyingKey" | "backend"> {
  /** At most VERIFY_BATCH_ITEMS_MAX, so that a task leaves its thread soon. */
  readonly items: readonly Pick<VerifyMessage, "inputs" | "proof">[];
}

export interface VerifyBatchValue {
  /** In the order of the items. A malformed item is its own failure. */
  readonly outcomes: readonly TaskResult<VerifyValue>[];
}

export interface AppendNotesMessage {
  readonly state: NoteTreeState;
  /** One 32-byte digest per note, 64 lower-case hex digits, in the order of appending; at least one. */
  readonly digests: readonly string[];
}

export interface AppendNotesValue {
  readonly state: NoteTreeState;
  /** Leaf of each digest. */
  readonly leaves: readonly string[];
  /** Nodes whose subtrees this append completed, leaves included. */
  readonly completed: readonly NoteTreeNode[];
}

export interface ComputeTasks {
  readonly warm: {
    readonly message: { readonly backend: PairingBackend };
    readonly value: Readonly<Record<never, never>>;
  };
  readonly open_key: { readonly message: OpenKeyMessage; readonly value: ResidentKey };
  readonly prove: { readonly message: ProveMessage; readonly value: ProveValue };
  readonly help: { readonly message: HelpMessage; readonly value: Readonly<Record<never, never>> };
  readonly verify: { readonly message: VerifyMessage; readonly value: VerifyValue };
  readonly verify_batch: { readonly message: VerifyBatchMessage; readonly value: VerifyBatchValue };
  readonly append_notes: { readonly message: AppendNotesMessage; readonly value: AppendNotesValue };
}

export type ComputeTaskName = keyof ComputeTasks;

export type ComputeRequest = {
  [Name in ComputeTaskName]: { readonly task: Name; readonly message: ComputeTasks[Name]["message"] };
}[ComputeTaskName];

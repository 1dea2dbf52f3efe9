/**
 * The compute tasks with their messages and results, as they cross the thread boundary. Results are unions, because a
 * thrown error loses its class and code between threads. Types only; both sides import this file.
 */
import type { MemoryLimits } from "./circuit/program-memory.js";
import type { CircuitInterface } from "./circuit/interface.js";
import type { Groth16ProofJson } from "./encoding/groth16-proof.js";
import type { Groth16SolidityArguments } from "./encoding/groth16-solidity.js";
import type { FflonkProofJson } from "./encoding/fflonk-proof.js";
import type { FflonkSolidityArguments } from "./encoding/fflonk-solidity.js";
import type { PlonkProofJson } from "./encoding/plonk-proof.js";
import type { PlonkSolidityArguments } from "./encoding/plonk-solidity.js";
import type { SharedKey } from "./kernels/threads/shared-key.js";
import type { CurveName } from "./curves/curve-parameters.js";
import type { ConsistencyProof, InclusionProof } from "./merkle/dense-proofs.js";
import type { NoteTreeNode, NoteTreeState } from "./merkle/note-tree.js";
import type { HashedSparseNode, SparseInsertion } from "./merkle/sparse-tree.js";
import type { ProofSystemName } from "./proof-systems/names.js";

/** Bytes that several threads read: one copy in memory, with the hash by which a worker caches what it parsed. */
export interface SharedBytes {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly bytes: SharedArrayBuffer;
}

interface TaskFailureDetail {
  readonly message: string;
  readonly code: string;
  readonly path?: string;
}

/** An expected failure of a task. */
export interface TaskFailure {
  readonly ok: false;
  readonly code:
    | "witness_invalid"
    | "constraints_unsatisfied"
    | "decryption_failed"
    | "proof_malformed"
    | "proof_self_check_failed"
    | "artifact_corrupt"
    | "internal_error";
  readonly message: string;
  readonly details?: readonly TaskFailureDetail[];
  /** The task is to be asked for again with the proving key in the message. */
  readonly needsProvingKey?: true;
}

export type TaskResult<Value> = { readonly ok: true; readonly value: Value } | TaskFailure;

/** A proof as an object of snarkjs. */
export type SnarkjsProof = Groth16ProofJson | PlonkProofJson | FflonkProofJson;

/** A proof as the arguments of the verifier contract's `verifyProof`. */
export type SolidityArguments = Groth16SolidityArguments | PlonkSolidityArguments | FflonkSolidityArguments;

/** Inputs as the parts of a JSON Web Encryption in compact form (RFC 7516, section 7.1), each in base64url. */
export interface EncryptedInputs {
  /** The protected header. */
  readonly header: string;
  /** The initialization vector. */
  readonly nonce: string;
  readonly ciphertext: string;
  readonly tag: string;
}

/** Inputs that only the proving thread reads. */
export interface ClosedInputs {
  /** Where the thread asks for the values (process/closed-channel.ts). */
  readonly channel: string;
  /** Where it is absent, the inputs name values of vaults; beside it they may. */
  readonly encrypted?: EncryptedInputs;
}

export interface ProveMessage {
  readonly system: ProofSystemName;
  readonly circuit: CircuitInterface;
  /** The circuit's witness program (WebAssembly). */
  readonly witnessProgram: SharedBytes;
  /**
   * Absent where the key is open: a proof that the kernels cannot make fails then, and asks for the key.
   */
  readonly provingKey?: SharedBytes;
  /** The same key in the kernels' form (task `open_key`); without it the reference backend proves. */
  readonly openKey?: OpenKey;
  /** Memory of the team that helpers of this proof may join (kernels/threads/thread-team.ts); for this attempt only. */
  readonly team?: SharedArrayBuffer;
  /** snarkjs verification key as JSON text; every proof is verified with it before it is returned. */
  readonly verifyingKey: SharedBytes;
  /** The caller's inputs as parsed JSON, unchecked; not read where there is a witness file. */
  readonly inputs: unknown;
  /** The inputs are closed: encrypted, or with references in them. */
  readonly closed?: ClosedInputs;
  /** A witness of the caller's own, as snarkjs' `.wtns` file, unchecked. */
  readonly witnessFile?: Uint8Array;
  /** R1CS file, which tells who is at fault when a witness or a witness program from outside gives no sound proof. */
  readonly r1cs?: SharedBytes;
  /** A form of the proof to return beside the binary one. */
  readonly form?: "snarkjs" | "solidity" | undefined;
}

export interface ProveValue {
  /** The binary form, lower-case hex. */
  readonly proof: string;
  readonly snarkjs?: SnarkjsProof;
  readonly solidity?: SolidityArguments;
  /** Outputs, then public inputs, in circuit order; decimal. */
  readonly publicSignals: readonly string[];
  readonly timings: { readonly witnessMs: number; readonly proveMs: number; readonly checkMs: number };
}

/** A key in the kernels' form, in memory that all threads share. */
export interface OpenKey {
  /** Names this opening: a key that is opened again has other memory. */
  readonly id: string;
  readonly key: SharedKey;
}

/** Room for threads in the memory of an open key. */
export interface OpenKeyPlaces {
  /** Proofs that may run with the key at once, or threads that help them. */
  readonly workspaces: number;
  /** Threads that may only help, beside one workspace: they take a part of its memory. Default 0. */
  readonly helpers?: number;
}

/** Room in the memory of an open key: for threads, and for tables that make proofs shorter where a scheme has them. */
export interface OpenKeyRoom extends OpenKeyPlaces {
  /** Bytes of tables at most; none by default. */
  readonly tableBytesMax?: number;
}

export interface OpenKeyMessage extends OpenKeyRoom {
  readonly system: ProofSystemName;
  readonly provingKey: SharedBytes;
}

/** Where the image of an open key is, or will be (key-images/). */
interface KeyImageMessage {
  /** Absolute. */
  readonly path: string;
  /** What the content means; an image of another form is not read. */
  readonly form: string;
}

/** Why an image was not read or written. */
interface Unusable {
  readonly problem: string;
}

/** What proofs with an open key need on each thread. */
export interface WarmKeyMessage extends Pick<ProveMessage, "system" | "witnessProgram" | "verifyingKey"> {
  readonly openKey: OpenKey;
}

/** The circuit's witness program as the thread runs it. */
export interface WarmKeyValue {
  readonly program: WebAssembly.Module;
  /** Of a program that takes its memory from outside. */
  readonly memory?: MemoryLimits;
}

/** Help with a proof that another thread leads. */
interface HelpMessage {
  readonly system: ProofSystemName;
  readonly openKey: OpenKey;
  readonly team: SharedArrayBuffer;
}

/** What computes pairings: the WebAssembly kernels, with the reference backend if they fail, or only the latter. */
export type PairingBackend = "wasm" | "reference";

/** What one proof is said to prove, unchecked: by inputs, by public signals, or by both, which must then agree. */
export interface UncheckedClaim {
  /** The caller's inputs; only public members are read. */
  readonly inputs?: unknown;
  /** A list in circuit order, outputs first. */
  readonly publicSignals?: unknown;
  /** Hex of the binary form (with or without 0x), or a snarkjs proof object. */
  readonly proof: unknown;
  /** The proof in another form, which must be the same proof. */
  readonly sameProof?: unknown;
  /** Adds this form of the proof to what the verification returns, also of one that is not valid. */
  readonly form?: "solidity";
}

export interface VerifyMessage extends UncheckedClaim {
  readonly system: ProofSystemName;
  readonly circuit: CircuitInterface;
  readonly verifyingKey: SharedBytes;
  /** "reference" unless given. */
  readonly backend?: PairingBackend;
}

export interface VerifyValue {
  readonly result: boolean;
  /** The proof in its canonical hex form, whatever form was given. */
  readonly proof: string;
  readonly publicSignals: readonly string[];
  /** Where the claim asked for it. */
  readonly solidity?: SolidityArguments;
}

export interface VerifyBatchMessage extends Pick<VerifyMessage, "system" | "circuit" | "verifyingKey" | "backend"> {
  /** As many as the system's `verifySliceItems` at most: the service cuts batches into slices. */
  readonly items: readonly UncheckedClaim[];
}

export interface VerifyBatchValue {
  /** In the order of the items. A malformed item is its own failure. */
  readonly outcomes: readonly TaskResult<VerifyValue>[];
}

export interface AppendNotesMessage {
  /** The curve of the store's proofs, over whose scalar field the tree hashes. */
  readonly curve: CurveName;
  readonly state: NoteTreeState;
  /** One digest per note in the order of appending, 64 lower-case hex digits each; at least one. */
  readonly digests: readonly string[];
}

export interface AppendNotesValue {
  readonly state: NoteTreeState;
  /** Leaf of each digest. */
  readonly leaves: readonly string[];
  /** Nodes whose subtrees this append completed, leaves included. */
  readonly completed: readonly NoteTreeNode[];
}

/** Entries for a sparse tree, with the nodes on their paths, which the thread cannot read by itself. */
export interface InsertNullifiersMessage extends SparseInsertion {
  readonly nodes: readonly HashedSparseNode[];
}

export interface InsertNullifiersValue {
  readonly root: string;
  readonly added: readonly HashedSparseNode[];
}

/** What is to be proven of a dense tree, with the full nodes that the proof reads. */
export interface ProveNotesMessage {
  readonly curve: CurveName;
  readonly depth: number;
  readonly nodes: readonly NoteTreeNode[];
  readonly query:
    | { readonly kind: "inclusion"; readonly index: number; readonly size: number }
    | { readonly kind: "consistency"; readonly fromSize: number; readonly toSize: number };
}

export type ProveNotesValue =
  | { readonly kind: "inclusion"; readonly proof: InclusionProof }
  | { readonly kind: "consistency"; readonly proof: ConsistencyProof };

export interface VerifierContractMessage {
  readonly system: ProofSystemName;
  /** snarkjs verification key as JSON text. */
  readonly verifyingKey: SharedBytes;
}

export interface VerifierContractValue {
  /** Solidity. */
  readonly source: string;
}

/** A proof that the server has verified, to be verified by others' code. */
export interface CrossCheckMessage {
  readonly system: ProofSystemName;
  /** snarkjs verification key as JSON text. */
  readonly verifyingKey: SharedBytes;
  /** The binary form, lower-case hex. */
  readonly proof: string;
  /** Decimal, outputs first. */
  readonly publicSignals: readonly string[];
  /** The key's compiled Solidity verifier: creation code and the selector of `verifyProof`, hex without 0x. */
  readonly contract?: { readonly bytecode: string; readonly selector: string };
}

/** What one verifier says of a proof. */
export interface CrossVerdict {
  readonly checker: "noble" | "evm" | "ffjavascript";
  readonly valid: boolean;
}

export interface CrossCheckValue {
  readonly verdicts: readonly CrossVerdict[];
}

/** The result of a task that only has an effect. */
interface EmptyValue {
  readonly done: true;
}

export interface ComputeTasks {
  readonly warm: {
    /** With the hash of the trees, where the thread appends notes. */
    readonly message: { readonly backend: PairingBackend; readonly withTrees: boolean };
    readonly value: EmptyValue;
  };
  /** Fails only where no memory can hold the key. */
  readonly open_key: { readonly message: OpenKeyMessage; readonly value: SharedKey };
  /** Writes a part of the tables that a key has room for, and tells where to go on; null when all is written. */
  readonly write_key_tables: {
    readonly message: Pick<HelpMessage, "system" | "openKey"> & { readonly from: number };
    readonly value: { readonly next: number | null };
  };
  /** Writes a new file, which stays in part where the disk refuses. */
  readonly write_key_image: {
    readonly message: KeyImageMessage & { readonly openKey: OpenKey };
    readonly value: { readonly sha256: string; readonly bytes: number } | Unusable;
  };
  /** Unusable is a file that is missing, or not the one of this hash. */
  readonly read_key_image: {
    readonly message: KeyImageMessage & { readonly sha256: string };
    readonly value: { readonly key: SharedKey } | Unusable;
  };
  /** Prepares one thread for proofs with the key, and gives the witness program that it compiled. */
  readonly warm_key: { readonly message: WarmKeyMessage; readonly value: WarmKeyValue };
  /** Runs the code of a proof on one thread, for nothing; as long as a short proof. */
  readonly rehearse: {
    readonly message: Pick<HelpMessage, "system" | "openKey"> & Pick<ProveMessage, "circuit">;
    readonly value: EmptyValue;
  };
  readonly prove: { readonly message: ProveMessage; readonly value: ProveValue };
  readonly help: { readonly message: HelpMessage; readonly value: EmptyValue };
  readonly verify: { readonly message: VerifyMessage; readonly value: VerifyValue };
  readonly verify_batch: { readonly message: VerifyBatchMessage; readonly value: VerifyBatchValue };
  readonly append_notes: { readonly message: AppendNotesMessage; readonly value: AppendNotesValue };
  readonly insert_nullifiers: { readonly message: InsertNullifiersMessage; readonly value: InsertNullifiersValue };
  readonly prove_notes: { readonly message: ProveNotesMessage; readonly value: ProveNotesValue };
  readonly verifier_contract: { readonly message: VerifierContractMessage; readonly value: VerifierContractValue };
  readonly cross_check: { readonly message: CrossCheckMessage; readonly value: CrossCheckValue };
}

export type ComputeTaskName = keyof ComputeTasks;

export type ComputeRequest = {
  [Name in ComputeTaskName]: { readonly task: Name; readonly message: ComputeTasks[Name]["message"] };
}[ComputeTaskName];

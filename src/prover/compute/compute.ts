/**
 * What the prover registry has computed, as one interface: compilation and setup in processes of their own, proofs and
 * verification in thread pools. Expected failures are results; methods reject for capacity (`overloaded`), time
 * (`deadline_exceeded`), the caller's abort, or a fault.
 */
import type {
  AppendNotesMessage,
  AppendNotesValue,
  CrossCheckMessage,
  CrossCheckValue,
  InsertNullifiersMessage,
  InsertNullifiersValue,
  ProveNotesMessage,
  ProveNotesValue,
  ProveMessage,
  ProveValue,
  SharedBytes,
  TaskResult,
  VerifierContractMessage,
  VerifierContractValue,
  VerifyBatchMessage,
  VerifyBatchValue,
  VerifyMessage,
  VerifyValue,
} from "../../engine/protocol.js";
import type { CompileRequest } from "../../engine/circuit/compile-circuit.js";
import type { CircuitInterface } from "../../engine/circuit/interface.js";
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import type { ProofSystemName } from "../../engine/proof-systems/names.js";
import type { ProverDiagnostic } from "../schemas.js";
import type { CircuitSource } from "../provisioning/sources.js";

export interface ComputeOptions {
  /** Whose turn the work takes where several owners wait, such as `user:<uuid>`. */
  readonly owner?: string;
  readonly signal?: AbortSignal;
  readonly deadlineMs?: number;
  /** Called with the share of a long step that is done, 0 to 1. */
  readonly onProgress?: (share: number) => void;
}

/** The files that a compilation produced. */
export interface Compilation {
  /** WebAssembly. */
  readonly witnessProgram: Uint8Array;
  readonly r1cs: Uint8Array;
  readonly sym: Uint8Array;
  readonly circuit: CircuitInterface;
  readonly warnings: readonly ProverDiagnostic[];
  /** Name and version, such as `circom2 0.2.23`, and those of the shipped library where it was read. */
  readonly compiler: string;
}

export type CompileOutcome =
  | { readonly ok: true; readonly value: Compilation }
  | {
      readonly ok: false;
      readonly errors: readonly ProverDiagnostic[];
      readonly warnings: readonly ProverDiagnostic[];
    };

/** A source, and the curve over whose scalar field it is compiled. */
export interface CompileInput {
  readonly source: CircuitSource;
  readonly curve: CompileRequest["curve"];
  /** Names the circuit: its source with the options, the curve and the compiler. */
  readonly hash?: string;
}

export interface SetupInput {
  readonly system: ProofSystemName;
  readonly r1cs: Uint8Array;
  /** The largest domain for which the process has memory; without it the compute tells it from the circuit. */
  readonly domainPowerMax?: number;
  /** The curve's reference strings; the first that is large enough is taken. */
  readonly referenceStrings?: readonly ReferenceStringFile[];
}

/** A reference string to be made for development. */
export interface ReferenceStringInput {
  readonly curve: CurveName;
  readonly power: number;
}

/** The keys that a setup made, before the gates have checked them. */
export interface SetupKeys {
  /** In the system's own format (engine/proof-systems/names.ts). */
  readonly provingKey: Uint8Array;
  /** snarkjs verification key, JSON text. */
  readonly verifyingKey: string;
  /** SHA-256 of the reference string from which they follow, of a universal system. */
  readonly referenceString?: string;
}

export type SetupOutcome =
  | { readonly ok: true; readonly value: SetupKeys }
  | StepFailure
  /** No reference string is large enough; one of this power is. */
  | { readonly ok: false; readonly referencePower: number };

/** A step that failed for a reason that another try would not change. */
export interface StepFailure {
  readonly ok: false;
  readonly errors: readonly ProverDiagnostic[];
}

/** A stored file and the hash that its content must have. */
export interface StoredFile {
  /** Absolute. */
  readonly path: string;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** A file of a reference string. */
export interface ReferenceStringFile extends StoredFile {
  readonly power: number;
}

export interface GatesInput {
  readonly system: ProofSystemName;
  readonly r1cs: StoredFile;
  readonly provingKey: StoredFile;
  readonly verifyingKey: StoredFile;
  /** What the memory of the gates is told from; ordinary limits hold without it. */
  readonly sizes?: { readonly circuit: CircuitInterface; readonly r1csBytes: number; readonly keyBytes: number };
  /** The string from which the key of a universal system follows, or an imported key of another. */
  readonly referenceString?: ReferenceStringFile;
  /** The key was made elsewhere. */
  readonly isImported?: boolean;
  /** Inputs that satisfy a built-in circuit: an honest proof of them must verify, too. */
  readonly example?: {
    readonly circuit: CircuitInterface;
    readonly witnessProgram: StoredFile;
    readonly inputs: unknown;
  };
}

/** The files of an import as they were uploaded: a circuit, with a key of its own or none, or a verifying key alone. */
export interface ImportFiles {
  readonly r1cs?: StoredFile;
  readonly witnessProgram?: StoredFile;
  readonly sym?: StoredFile;
  readonly provingKey?: StoredFile;
  readonly verifyingKey?: StoredFile;
}

export interface ImportInput {
  readonly system: ProofSystemName;
  readonly files: ImportFiles;
  /** Strings from one of which the key may follow. */
  readonly strings?: readonly ReferenceStringFile[];
  /** The key must follow from one of them. */
  readonly needsString?: boolean;
}

/** What the files are, where they fit together. */
export interface ImportedParts {
  readonly circuit: CircuitInterface;
  /** WebAssembly, with a maximum of memory; absent without a circuit. */
  readonly witnessProgram?: Uint8Array;
  /** Of the proving key, JSON text; absent without one. */
  readonly verifyingKey?: string;
  /** The proving key in this server's form; absent where that is the uploaded file. */
  readonly provingKey?: Uint8Array;
  /** SHA-256 of the string from which the key says to follow; the gates check it. */
  readonly referenceString?: string;
}

/** A proving key of the artifact store. */
export interface ExportInput {
  readonly system: ProofSystemName;
  readonly provingKey: StoredFile;
  /** Absolute path of the file to write; nothing is there yet, and the caller deletes what a failure leaves. */
  readonly target: string;
  /** Tell the memory and the disk that the file takes. */
  readonly sizes?: { readonly circuit: CircuitInterface; readonly keyBytes: number };
}

export type ImportOutcome = { readonly ok: true; readonly value: ImportedParts } | StepFailure;

/** The SHA-256 of the file that was written, lower-case hex. */
export type ExportOutcome = { readonly ok: true; readonly sha256: string } | StepFailure;

/** Whether a key has passed all gates. */
export type GatesOutcome = { readonly ok: true } | StepFailure;

/** How the image of an open key is known to be right (key-images.ts). */
export interface KeyImagePin {
  /** Returns the SHA-256 of the image's file that the prover's vault knows; undefined where it knows none. */
  find(): Promise<string | undefined>;
  /** Lets the prover's vault know it. */
  keep(sha256: string): Promise<void>;
}

/** A proving key in the artifact store, which is read only where the kernels do not have it open. */
export interface StoredProvingKey {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly byteLength: number;
  /** Reads it, checked against its hash, and leaves it to the caller. */
  readonly read: () => Promise<SharedBytes>;
  /** The same, and keeps it in memory for the next call. */
  readonly shared: () => Promise<SharedBytes>;
  /** Knows the image of the open key; absent where none is kept. */
  readonly pin?: KeyImagePin;
}

/** What is to be proven, with a key that may have to be read. */
export interface ProveInput extends Omit<ProveMessage, "provingKey" | "openKey" | "team"> {
  readonly provingKey: StoredProvingKey;
}

/** A key that is opened before anybody asks for a proof. */
export interface WarmInput extends Pick<ProveInput, "system" | "circuit" | "provingKey"> {
  /** Loaded where there is room for the key. */
  readonly witnessProgram: () => Promise<SharedBytes>;
  readonly verifyingKey: () => Promise<SharedBytes>;
}

export interface ProverCompute {
  /**
   * Names everything but the source that decides the result of a compilation: compiler, version, flags and library.
   */
  readonly compilerName: string;
  /** Compiles untrusted source. Whatever the source does is a result, never a rejection. */
  compile(input: CompileInput, options?: ComputeOptions): Promise<CompileOutcome>;
  /** Reads a circuit, and a key if there is one, that were made elsewhere. Whatever the files are is a result. */
  readImport(input: ImportInput, options?: ComputeOptions): Promise<ImportOutcome>;
  /** Writes snarkjs' file of a proving key that is stored in another form, to disk. */
  exportZkey(input: ExportInput, options?: ComputeOptions): Promise<ExportOutcome>;
  /** Makes keys: fresh, random ones, or those that follow from a reference string. */
  setup(input: SetupInput, options?: ComputeOptions): Promise<SetupOutcome>;
  /** Makes the file of a reference string whose secret nobody keeps; trusted only as far as this server is. */
  makeReferenceString(
    input: ReferenceStringInput,
    options?: ComputeOptions,
  ): Promise<{ readonly ok: true; readonly value: Uint8Array } | StepFailure>;
  /** Runs all setup gates on the stored keys, forgeries among them. */
  gates(input: GatesInput, options?: ComputeOptions): Promise<GatesOutcome>;
  prove(input: ProveInput, options?: ComputeOptions): Promise<TaskResult<ProveValue>>;
  /**
   * Has a key open and the threads ready before the first proof, where there is memory that nothing else takes. Returns
   * whether they are.
   */
  warmKey(input: WarmInput, options?: ComputeOptions): Promise<boolean>;
  verify(message: VerifyMessage, options?: ComputeOptions): Promise<TaskResult<VerifyValue>>;
  /** Verifies many proofs of one key on one thread. */
  verifyBatch(message: VerifyBatchMessage, options?: ComputeOptions): Promise<TaskResult<VerifyBatchValue>>;
  /** Hashes notes into their tree. */
  appendNotes(message: AppendNotesMessage, options?: ComputeOptions): Promise<AppendNotesValue>;
  /** Hashes nullifiers into their tree. */
  insertNullifiers(message: InsertNullifiersMessage, options?: ComputeOptions): Promise<InsertNullifiersValue>;
  /** Makes a proof about a tree of notes. */
  proveNotes(message: ProveNotesMessage, options?: ComputeOptions): Promise<ProveNotesValue>;
  /** Writes the Solidity contract that verifies proofs of a key on a curve with precompiles in the EVM. */
  verifierContract(
    message: VerifierContractMessage,
    options?: ComputeOptions,
  ): Promise<TaskResult<VerifierContractValue>>;
  /** Verifies a proof by others' code; see engine/assurance/cross-check.ts. */
  crossCheck(message: CrossCheckMessage, options?: ComputeOptions): Promise<TaskResult<CrossCheckValue>>;
}

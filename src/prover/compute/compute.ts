/**
 * What the prover registry has computed, as one interface: compilation and setup in processes of their own, proofs and
 * verification in thread pools. Expected failures are results; methods reject for capacity (`overloaded`), time
 * (`deadline_exceeded`), the caller's abort, or a fault.
 */
import type {
  AppendNotesMessage,
  AppendNotesValue,
  ProveMessage,
  ProveValue,
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
  /** The string from which the key of a universal system follows. */
  readonly referenceString?: ReferenceStringFile;
  /** Inputs that satisfy a built-in circuit: an honest proof of them must verify, too. */
  readonly example?: {
    readonly circuit: CircuitInterface;
    readonly witnessProgram: StoredFile;
    readonly inputs: unknown;
  };
}

/** The files of an import as they were uploaded. */
export interface ImportFiles {
  readonly r1cs: StoredFile;
  readonly witnessProgram: StoredFile;
  readonly sym: StoredFile;
  readonly provingKey?: StoredFile;
  readonly verifyingKey?: StoredFile;
}

/** What the files are, where they fit together. */
export interface ImportedParts {
  readonly circuit: CircuitInterface;
  /** WebAssembly, with a maximum of memory. */
  readonly witnessProgram: Uint8Array;
  /** Of the proving key, JSON text; absent without one. */
  readonly verifyingKey?: string;
}

export type ImportOutcome = { readonly ok: true; readonly value: ImportedParts } | StepFailure;

/** Whether a key has passed all gates. */
export type GatesOutcome = { readonly ok: true } | StepFailure;

export interface ProverCompute {
  /**
   * Names everything but the source that decides the result of a compilation: compiler, version and flags.
   */
  readonly compilerName: string;
  /** Compiles untrusted source. Whatever the source does is a result, never a rejection. */
  compile(input: CompileInput, options?: ComputeOptions): Promise<CompileOutcome>;
  /** Reads a circuit, and a key if there is one, that were made elsewhere. Whatever the files are is a result. */
  readImport(files: ImportFiles, options?: ComputeOptions): Promise<ImportOutcome>;
  /** Makes keys: fresh, random ones, or those that follow from a reference string. */
  setup(input: SetupInput, options?: ComputeOptions): Promise<SetupOutcome>;
  /** Makes the file of a reference string whose secret nobody keeps; trusted only as far as this server is. */
  makeReferenceString(
    input: ReferenceStringInput,
    options?: ComputeOptions,
  ): Promise<{ readonly ok: true; readonly value: Uint8Array } | StepFailure>;
  /** Runs all setup gates on the stored keys, forgeries among them. */
  gates(input: GatesInput, options?: ComputeOptions): Promise<GatesOutcome>;
  prove(message: ProveMessage, options?: ComputeOptions): Promise<TaskResult<ProveValue>>;
  verify(message: VerifyMessage, options?: ComputeOptions): Promise<TaskResult<VerifyValue>>;
  /** Verifies many proofs of one key on one thread. */
  verifyBatch(message: VerifyBatchMessage, options?: ComputeOptions): Promise<TaskResult<VerifyBatchValue>>;
  /** Hashes notes into their tree. */
  appendNotes(message: AppendNotesMessage, options?: ComputeOptions): Promise<AppendNotesValue>;
  /** Writes the Solidity contract that verifies proofs of a key on a curve with precompiles in the EVM. */
  verifierContract(
    message: VerifierContractMessage,
    options?: ComputeOptions,
  ): Promise<TaskResult<VerifierContractValue>>;
}

/**
 * The port between the registry and a provider: a toolchain and its proof systems, as `provider` in the API names it. A
 * provider reads programs, compiles them, makes and checks keys, proves and verifies. It never sees records, owners or
 * vaults, and stores nothing: it gets files and gives files back, and the registry keeps them by their hash.
 */
import type { VaultReference } from "../../engine/closed/vault-references.js";
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import type {
  CrossCheckMessage,
  CrossCheckValue,
  ClosedInputs,
  ProveValue,
  SharedBytes,
  TaskResult,
  UncheckedClaim,
  VerifierContractValue,
  VerifyBatchValue,
  VerifyValue,
} from "../../engine/protocol.js";
import type {
  ComputeOptions,
  ExportOutcome,
  GatesOutcome,
  ImportInput,
  ImportOutcome,
  KeyImagePin,
  ProverCompute,
  ReferenceStringFile,
  SetupOutcome,
  StepFailure,
  StoredFile,
} from "../compute/compute.js";
import type { ArtifactReference } from "../../platform/store/artifacts.js";
import type { BuiltInCircuits, SourceLimits } from "../provisioning/sources.js";
import type { CreateProver, Prover, ProverDiagnostic } from "../schemas.js";

/** A proving scheme on a curve, as a provider offers it. */
export interface OfferedSystem {
  /** Lower case. */
  readonly proving_scheme: string;
  readonly curve: string;
  /**
   * How keys come to be: by a secret setup of each program, from a structured reference string, or from the program
   * alone.
   */
  readonly setup: "own" | "universal" | "none";
  /** The curve over whose scalar field the tree of a prover's notes hashes. */
  readonly noteCurve: CurveName;
  /**
   * The curve of the reference strings: present where `setup` is `universal`, and where it is `own` and the first phase
   * may come from a published string.
   */
  readonly stringCurve?: CurveName;
  /** The curve of the strings against which a key from elsewhere can be checked; absent where none is taken. */
  readonly importCurve?: CurveName;
  /** Formats of the two keys, as the vault's pins name them. */
  readonly keyFormats: { readonly proving_key: string; readonly verifying_key: string };
  /** Forms of a proof, beside the hex one, that `?format=` may ask for. */
  readonly forms: readonly ProofForm[];
  /** Proofs of a batch that are verified in one go while others wait, some 15 to 30 ms. */
  readonly verifySliceItems: number;
}

export type ProofForm = "snarkjs" | "solidity";

/** A file that can be downloaded. */
export interface Download {
  /** Name among the prover's files. */
  readonly artifact: string;
  readonly contentType: string;
}

/** What a body says of the program to prove, read and checked. */
export interface Program {
  /** Name of a built-in program, or `source-` and the start of a hash. */
  readonly identifier: string;
  /** Options of the compiler, all of them; null for a provider without any. */
  readonly options: Prover["options"];
  /** Whether it ships with the server: all owners share what was compiled from it. */
  readonly isBuiltIn: boolean;
  /**
   * Names what compiling makes: a hash of the program, the curve, the provider, and its compiler with its version.
   * Programs with one name are compiled once.
   */
  readonly hash: string;
  /** SHA-256 of the program as it was sent, lower-case hex, whatever compiles it. */
  readonly sourceHash?: string;
  /** What `compile` reads, in a form of the provider's own; kept as `source.json`. */
  readonly content: Uint8Array;
}

/** A prover as its provider sees it. */
export interface BuiltProver {
  readonly system: OfferedSystem;
  readonly program: Pick<Program, "identifier" | "options" | "isBuiltIn" | "hash"> & {
    /** Whether its files were made elsewhere. */
    readonly isImported: boolean;
    /** Whether its keys were. */
    readonly isKeyImported: boolean;
  };
  /**
   * Returns hash and size of a file of the prover.
   * @throws AppError `artifact_corrupt` when the prover has no such file, as `file` and `read`
   */
  stored(name: string): ArtifactReference;
  /** Returns where a file of the prover lies. */
  file(name: string): Promise<StoredFile>;
  /** Returns a file's content, checked against its hash. */
  read(name: string): Promise<Uint8Array>;
}

/** A prover whose keys are ready. */
export interface ReadyProver extends BuiltProver {
  /**
   * Returns a file in memory that threads share; least recently used ones are dropped. `proving_key` and
   * `verifying_key.json` are those that the prover's vault has pinned; verifying has no proving key.
   */
  shared(name: string): Promise<SharedBytes>;
  /** The same, left to the caller instead of kept. */
  load(name: string): Promise<SharedBytes>;
  /** Knows the image of the open proving key (compute/key-images.ts); absent where none is kept. */
  readonly keyImage?: KeyImagePin | undefined;
}

export type CompiledProgram =
  | {
      readonly ok: true;
      /** By the names under which the prover keeps them. */
      readonly files: Readonly<Record<string, Uint8Array>>;
      readonly warnings: readonly ProverDiagnostic[];
      /** Outputs and inputs of the program, in field elements: bodies with inputs are bounded by it. */
      readonly valueCount: number;
      /** Name and version of the compiler; with the program and its options, the same files can be made again. */
      readonly compiler?: string;
    }
  | (StepFailure & { readonly warnings: readonly ProverDiagnostic[] });

/** What a request wants proven, unchecked: named inputs, or a whole witness in a file of the provider's format. */
export interface ProveRequest {
  readonly inputs: unknown;
  readonly witnessFile?: Uint8Array;
  /** The inputs are closed; only for a provider that takes such. */
  readonly closed?: ClosedInputs;
  /** What the inputs name in vaults, in their order. */
  readonly references?: readonly VaultReference[];
  /** One of the system's `forms`. */
  readonly format?: ProofForm | undefined;
}

/** Files of a circuit, and its keys, from elsewhere. */
export interface ImportRequest extends Omit<ImportInput, "system"> {
  readonly system: OfferedSystem;
}

/**
 * What a program, its inputs or a proof are to blame for is a result. Methods reject for capacity (`overloaded`), time
 * (`deadline_exceeded`), the caller's abort, or a fault; provisioning then tries the step again.
 */
export interface Provider {
  /** As the API names it, lower case. */
  readonly name: string;
  readonly systems: readonly OfferedSystem[];
  /** By the name in the path. `verifying_key.json` and `proving_key` are the names of the keys. */
  readonly downloads: Readonly<Partial<Record<string, Download>>>;
  /** Whether programs are circom circuits, which the server can analyse; without it `strict` is refused. */
  readonly isAnalyzed: boolean;
  /** Whether `prove` takes closed inputs, which its thread alone opens (engine/closed/). They are refused otherwise. */
  readonly takesClosedInputs?: true;

  /**
   * Reads the program of a body: built in or the caller's own. Members that the provider does not know are refused.
   * @throws AppError `source_invalid`, `identifier_unknown`, `prover_unsupported`, `invalid_request`
   */
  readProgram(request: CreateProver, system: OfferedSystem): Program;
  /** Compiles `source.json`. */
  compile(prover: BuiltProver, options: ComputeOptions): Promise<CompiledProgram>;
  /** Returns the files of a program, path -> text, from its `source.json`; absent where programs have none. */
  readonly sourceFiles?: (content: Uint8Array) => Readonly<Record<string, string>>;
  /** Reads a compiled circuit, and its keys, from elsewhere; absent where `import` is refused. */
  readonly readImport?: (request: ImportRequest, options: ComputeOptions) => Promise<ImportOutcome>;
  /** Writes snarkjs' file of proving keys that are stored in another form; absent where there is none. */
  readonly zkeyExport?: {
    /** Returns the length of the file, at most. */
    bytes(prover: BuiltProver): Promise<number>;
    /** @param target absolute path of the file; nothing is there yet */
    write(prover: BuiltProver, target: string, options: ComputeOptions): Promise<ExportOutcome>;
  };
  /**
   * Tells how large the work of `setup` and `gates` is, in bytes of memory that the open key will take: large programs
   * wait for each other, and small ones for none of them. Absent where all programs are small.
   */
  readonly setupSize?: (prover: BuiltProver) => Promise<number>;
  /**
   * Makes the keys from what was compiled.
   * @param strings those of `stringCurve` from the first of which that is large enough the keys must follow; undefined
   *   where the setup takes none, and makes all its secrets by itself
   */
  setup(
    prover: BuiltProver,
    strings: readonly ReferenceStringFile[] | undefined,
    options: ComputeOptions,
  ): Promise<SetupOutcome>;
  /**
   * Checks the keys as they are stored, before any proof is made with them.
   * @param string the reference string from which they follow, if any
   */
  gates(prover: BuiltProver, string: ReferenceStringFile | undefined, options: ComputeOptions): Promise<GatesOutcome>;
  /** Returns the length of a whole witness, as `prove` takes it in a file, at most; absent where it takes none. */
  readonly witnessFileBytes?: (prover: BuiltProver) => Promise<number>;
  /**
   * Returns the names of a compiled program's public signals, one for each element, in the order of proofs.
   * @throws AppError `artifact_corrupt`
   */
  publicNames(prover: BuiltProver): Promise<readonly string[]>;
  /**
   * Has the key open before the first proof, where there is memory that nothing else takes; absent where proofs need no
   * such thing. Returns whether it is open.
   */
  readonly warm?: (prover: ReadyProver, options: ComputeOptions) => Promise<boolean>;
  /** Makes a proof and verifies it. */
  prove(prover: ReadyProver, request: ProveRequest, options: ComputeOptions): Promise<TaskResult<ProveValue>>;
  /** Verifies a proof in any of its forms; one that is well-formed and wrong is false. */
  verify(prover: ReadyProver, claim: UncheckedClaim, options: ComputeOptions): Promise<TaskResult<VerifyValue>>;
  /** The same for as many as the system's `verifySliceItems` at most. */
  verifyBatch(
    prover: ReadyProver,
    claims: readonly UncheckedClaim[],
    options: ComputeOptions,
  ): Promise<TaskResult<VerifyBatchValue>>;
  /**
   * Verifies a proof that `verify` has decided on by code of others than the server's, and tells what each says; absent
   * where there is none, and `assurance: triple` is refused.
   */
  readonly crossCheck?: (
    prover: ReadyProver,
    claim: Pick<CrossCheckMessage, "proof" | "publicSignals" | "contract">,
    options: ComputeOptions,
  ) => Promise<TaskResult<CrossCheckValue>>;
  /** Writes the Solidity contract that verifies proofs of a key; present where a system has the form `solidity`. */
  readonly verifierContract?: (
    prover: ReadyProver,
    options: ComputeOptions,
  ) => Promise<TaskResult<VerifierContractValue>>;
}

/** What the server has for providers. */
export interface ProviderDependencies {
  /** The pools and processes for circom's circuits. */
  readonly compute: ProverCompute;
  readonly builtIns: BuiltInCircuits;
  /** What the settings allow of a source. */
  readonly sourceLimits: SourceLimits;
  /** Reads a stored file and checks its hash. */
  readonly readArtifact: (sha256: string) => Promise<Uint8Array>;
}

export type ProviderFactory = (dependencies: ProviderDependencies) => Provider;

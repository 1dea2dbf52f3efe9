/**
 * The port between a proof system (a scheme on a curve) and the server that makes keys, proves and verifies with it. A
 * system computes; the callers keep what they have parsed and opened, check inputs and witnesses, verify each new proof
 * and repeat what the kernels fail at (engine/tasks.ts, engine/verify-tasks.ts, workers/setup.process.ts and
 * gates.process.ts).
 *
 * Callers know keys and proofs of a system as objects only, and give back what the same system has made.
 */
import type { ImportProblem } from "../circuit/imported-circuit.js";
import type { CircuitInterface } from "../circuit/interface.js";
import type { PairingKernels } from "../curves/curve-kernels.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { Decoded } from "../encoding/decoded.js";
import type { FixedBaseExecutor } from "../groth16/fixed-base-work.js";
import type { PowersOfTau } from "../powers-of-tau/lagrange-points.js";
import type { PointRowExecutor, PointRowOptions } from "../powers-of-tau/point-row-work.js";
import type { SharedKey } from "../kernels/threads/shared-key.js";
import type { OpenKeyRoom, PairingBackend, SnarkjsProof, SolidityArguments } from "../protocol.js";
import type { StructuredReferenceString } from "./reference-string.js";

/** What makes and checks keys, proves and verifies. */
export interface ProofSystem<
  ProvingKey extends object = object,
  Opened extends SharedKey = SharedKey,
  Proof extends object = object,
  Prepared extends PreparedKey = PreparedKey,
> {
  readonly curve: CurveParameters;

  /**
   * Makes a key pair from the bytes of an R1CS and passes it through the gates that are possible while it is made. Runs
   * in a process that ends afterwards.
   */
  makeKey(r1cs: Uint8Array, options: MakeKeyOptions): Promise<MakeKeyResult>;
  /** Runs all gates on a key as it lies in the artifact store. */
  checkKey(stored: StoredKey): Promise<StoredKeyResult>;
  /**
   * Reads a key of snarkjs that was made elsewhere, and its verifying key. Whatever the files are is a result; the
   * gates decide afterwards whether the key is sound.
   * @param options how points are computed that the files do not have
   */
  importKey(files: ImportedKeyFiles, options?: PointRowOptions): Promise<ImportedKeyResult>;
  /** Reads a verifying key of snarkjs that comes without its proving key, and runs the gates that it has. */
  importVerifyingKey(text: string): Promise<ImportedVerifyingKeyResult>;
  /**
   * Gives a proving key of the artifact store as snarkjs' `.zkey`, in pieces; absent where it is that already.
   * @throws RangeError when the key does not fit into a memory
   */
  exportZkey?(provingKey: Uint8Array): Iterable<Uint8Array>;
  /**
   * Returns the source of a Solidity contract that verifies the key's proofs; absent where the EVM has no precompiles.
   * @param verifyingKey snarkjs' verification_key.json, parsed
   */
  solidityVerifier?(verifyingKey: unknown): Promise<string>;

  /** Reads a proving key into views of its bytes, which may lie in shared memory. Throws when they are no key. */
  readProvingKey(bytes: Uint8Array): ProvingKey;
  /**
   * Puts a key into memory that threads share, in the form of the kernels.
   * @throws RangeError when a memory cannot hold the key with this room
   */
  openKey(key: ProvingKey, room: OpenKeyRoom): Opened;
  /**
   * Writes a part of the tables that an open key has room for, while others may prove with it; absent where there are
   * none. Takes and returns where to go on, undefined when all is written.
   */
  writeTables?(opened: Opened, from: number, withinMs: number): number | undefined;
  /** Opens a key on the calling thread; about a millisecond. */
  openProver(opened: Opened): KernelProver<Proof>;
  /** Proves with fresh blinding and without an open key, where possible on other arithmetic than `openKey`. */
  proveOnReference(key: ProvingKey, witness: Uint8Array): Promise<Proof>;

  /** Returns the proof's binary form as lower-case hex; each proof has one. */
  encodeHex(proof: Proof): string;
  /** Returns the proof object of snarkjs. */
  toJson(proof: Proof): SnarkjsProof;
  /** Returns the arguments of `verifyProof` of the contract; present with `solidityVerifier`. */
  solidityArguments?(proof: Proof, publicSignals: readonly bigint[]): SolidityArguments;
  /** Reads proofs in any form of the API: hex with or without 0x, or snarkjs' object. */
  decodeProofs(values: readonly unknown[], pairing: PairingKernels): Decoded<Proof>[];

  /** Loads the curve's pairing, once per thread. */
  loadPairing(backend: PairingBackend): Promise<PairingKernels>;
  /**
   * Reads a verifying key, checks it and computes from it what each verification needs.
   * @param verifyingKey snarkjs' verification_key.json, parsed
   * @throws Error when it is no key of this system
   */
  prepareKey(verifyingKey: unknown, pairing: PairingKernels): Prepared;
  /** Tells whether the proof is valid; a wrong number of public signals is not. */
  verify(key: Prepared, proof: Proof, publicSignals: readonly bigint[]): boolean;
  /** Tells whether each proof is valid, in order. */
  verifyBatch(key: Prepared, claims: readonly SystemClaim<Proof>[]): boolean[];
}

/** An open key on one thread. */
export interface KernelProver<Proof extends object = object> {
  /**
   * Makes a proof with fresh blinding.
   * @param witness one canonical integer per wire, little-endian, checked by the caller
   * @param team memory of a team that helpers may join; without it the thread proves alone
   * @throws Error when all workspaces are taken, a kernel traps or a helper was lost
   */
  prove(witness: Uint8Array, team?: SharedArrayBuffer): Proof;
  /** Helps the proof that leads the team, until it is done or helpers are dismissed. */
  help(team: SharedArrayBuffer): void;
}

/** A verifying key that was prepared on this thread. */
export interface PreparedKey {
  /** What it was prepared with: the kernels or the reference. */
  readonly kernels: PairingKernels;
}

/** A proof and the public signals that it is said to prove, outputs first. */
export interface SystemClaim<Proof extends object = object> {
  readonly proof: Proof;
  readonly publicSignals: readonly bigint[];
}

export interface MakeKeyOptions {
  /** How the points are computed: inline by default, on several threads in the setup process. */
  readonly execute?: FixedBaseExecutor;
  /** As `execute`, for sums of points of a string. */
  readonly executeRows?: PointRowExecutor;
  /** Called with the share that is done, 0 to 1, never decreasing. */
  readonly onProgress?: (share: number) => void;
  /**
   * Returns the first string at hand with at least this power, if there is one. A universal system needs it; Groth16
   * takes its phase 1 from it, and makes all secrets by itself where it is absent.
   */
  readonly referenceString?: (power: number) => StructuredReferenceString | undefined;
  /** The largest domain for which the process has memory. */
  readonly domainPowerMax?: number;
}

export type MakeKeyResult =
  | {
      readonly ok: true;
      readonly provingKey: Uint8Array;
      /** snarkjs' verification_key.json. */
      readonly verifyingKey: object;
      /** Gates that the key has passed. */
      readonly gates: readonly string[];
      /** Milliseconds for the key alone, and for its gates. */
      readonly timings: { readonly keyMs: number; readonly gatesMs: number };
      /** SHA-256 of the string from which the key follows. */
      readonly referenceString?: string;
    }
  | { readonly ok: false; readonly code: "circuit_unsupported" | "gate_failed"; readonly message: string }
  /** No string at hand has the power that the circuit takes. */
  | { readonly ok: false; readonly code: "reference_string_required"; readonly power: number }
  /** The circuit has more gates than it was given memory for. */
  | { readonly ok: false; readonly code: "memory_required"; readonly domainPower: number };

/** A key of snarkjs as it was uploaded, with the circuit that it is said to be for. */
export interface ImportedKeyFiles {
  readonly r1cs: Uint8Array;
  /** `.zkey`. */
  readonly provingKey: Uint8Array;
  /** verification_key.json, text; must be the proving key's own. */
  readonly verifyingKey?: string;
  /** The curve's strings that the server has, from one of which the key may follow. */
  readonly strings: readonly CandidateString[];
  /** The key must follow from one of the strings. */
  readonly needsString?: boolean;
}

/** A string that the server has, opened when it is asked for. */
export interface CandidateString {
  readonly sha256: string;
  readonly power: number;
  /** Its part that universal keys follow from. */
  open(): StructuredReferenceString;
  /** Its part that keys with a setup of their own follow from; undefined where the file has none. */
  openPowers(): PowersOfTau | undefined;
}

export type ImportedKeyResult =
  | {
      readonly ok: true;
      /** verification_key.json of the proving key, text. */
      readonly verifyingKey: string;
      /** The key in the form of the artifact store; absent where that is the uploaded file. */
      readonly provingKey?: Uint8Array;
      /** SHA-256 of the string from which the key follows, where the server has it; the gates check that in full. */
      readonly referenceString?: string;
    }
  | ImportProblem;

export type ImportedVerifyingKeyResult =
  { readonly ok: true; readonly verifyingKey: string; readonly publicCount: number } | ImportProblem;

/** A key as it lies in the artifact store. */
export interface StoredKey {
  readonly r1cs: Uint8Array;
  readonly provingKey: Uint8Array;
  /** snarkjs verification key, JSON text. */
  readonly verifyingKey: string;
  readonly example?: HonestExample;
  /** The string from which a universal key, or phase 1 of a Groth16 key, must follow. */
  readonly referenceString?: StructuredReferenceString;
  /** How sums of the string's points are computed; inline by default. */
  readonly executeRows?: PointRowExecutor;
  /** Called with the share of the gates that is done, 0 to 1. */
  readonly onProgress?: (share: number) => void;
  /** The key comes from elsewhere: where its string is not at hand, its points are checked among themselves. */
  readonly isImported?: boolean;
}

/**
 * Satisfying inputs of a built-in circuit, with what a proof of them takes. Never a caller's own program: it runs
 * without a deadline.
 */
export interface HonestExample {
  readonly circuit: CircuitInterface;
  /** WebAssembly. */
  readonly witnessProgram: Uint8Array;
  /** Input name -> value, as parsed JSON. */
  readonly inputs: unknown;
}

export type StoredKeyResult = { readonly ok: true } | { readonly ok: false; readonly message: string };

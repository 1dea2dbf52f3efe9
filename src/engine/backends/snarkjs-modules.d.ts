/** The part of ffjavascript 0.3.1 and snarkjs 0.7.6 that the engine uses; neither ships types. */
declare module "ffjavascript" {
  /** A curve built with `singleThread`; `tm.code` (the WebAssembly program) exists on such curves only. */
  export interface SingleThreadCurve {
    readonly name: string;
    readonly q: bigint;
    readonly r: bigint;
    /** Bytes of a prepared G1 and G2 point. */
    readonly prePSize: number;
    readonly preQSize: number;
    readonly tm: { readonly code: Uint8Array };
  }
  export function buildBn128(singleThread: true): Promise<SingleThreadCurve>;
  export function buildBls12381(singleThread: true): Promise<SingleThreadCurve>;
}

declare module "snarkjs" {
  export interface SnarkjsLogger {
    debug(message: string): void;
    info(message: string): void;
    warn(message: string): void;
    error(message: string): void;
  }
  export interface SnarkjsProof {
    readonly pi_a: string[];
    readonly pi_b: string[][];
    readonly pi_c: string[];
    readonly protocol: string;
    readonly curve: string;
  }
  /** Bytes in memory; never a string, which snarkjs opens as a path. */
  export type SnarkjsBytes = Uint8Array;
  export interface SnarkjsMemoryFile {
    type: "mem";
    data?: Uint8Array;
  }
  export const groth16: {
    prove(
      zkey: SnarkjsBytes,
      witness: SnarkjsBytes,
      logger?: SnarkjsLogger,
    ): Promise<{ proof: SnarkjsProof; publicSignals: string[] }>;
    verify(
      verifyingKey: unknown,
      publicSignals: readonly string[],
      proof: unknown,
      logger?: SnarkjsLogger,
    ): Promise<boolean>;
    exportSolidityCallData(proof: unknown, publicSignals: readonly string[]): Promise<string>;
  };
  export const zKey: {
    newZKey(r1cs: SnarkjsBytes, ptau: SnarkjsBytes, zkey: SnarkjsMemoryFile, logger?: SnarkjsLogger): Promise<unknown>;
    contribute(
      from: SnarkjsBytes,
      to: SnarkjsMemoryFile,
      name: string,
      entropy: string,
      logger?: SnarkjsLogger,
    ): Promise<unknown>;
    exportVerificationKey(zkey: SnarkjsBytes, logger?: SnarkjsLogger): Promise<unknown>;
    exportSolidityVerifier(
      zkey: SnarkjsBytes,
      templates: { readonly [Scheme in "groth16" | "plonk" | "fflonk"]?: string },
      logger?: SnarkjsLogger,
    ): Promise<string>;
  };
  export const wtns: {
    calculate(
      input: unknown,
      wasm: SnarkjsBytes,
      witness: SnarkjsMemoryFile,
      options?: { memorySize: number },
    ): Promise<void>;
    check(r1cs: SnarkjsBytes, witness: SnarkjsBytes, logger?: SnarkjsLogger): Promise<boolean>;
  };
}

/** The parts of circomlibjs that tests use as an oracle; the package ships no types. */
declare module "circomlibjs" {
  export interface PoseidonField {
    toObject(value: unknown): bigint;
  }
  export interface Poseidon {
    (inputs: readonly bigint[]): unknown;
    readonly F: PoseidonField;
  }
  export function buildPoseidon(): Promise<Poseidon>;
  /** The slow one, straight from the paper. */
  export function buildPoseidonReference(): Promise<Poseidon>;
  export interface SparseTree {
    readonly F: PoseidonField;
    readonly root: unknown;
    insert(key: bigint, value: bigint): Promise<unknown>;
    find(key: bigint): Promise<{
      readonly found: boolean;
      readonly siblings: readonly unknown[];
      readonly foundValue?: unknown;
      readonly notFoundKey?: unknown;
      readonly notFoundValue?: unknown;
      readonly isOld0: boolean;
    }>;
  }
  /** The tree that circomlib's SMTVerifier checks proofs of. */
  export function newMemEmptyTrie(): Promise<SparseTree>;
  export interface Eddsa {
    readonly F: { e(value: bigint): unknown };
    readonly babyJub: { packPoint(point: unknown): Uint8Array };
    prv2pub(privateKey: Uint8Array): unknown;
    signPoseidon(privateKey: Uint8Array, message: unknown): { readonly R8: unknown; readonly S: bigint };
    packSignature(signature: unknown): Uint8Array;
  }
  export function buildEddsa(): Promise<Eddsa>;
}

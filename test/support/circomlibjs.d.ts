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
  export interface Eddsa {
    readonly F: { e(value: bigint): unknown };
    readonly babyJub: { packPoint(point: unknown): Uint8Array };
    prv2pub(privateKey: Uint8Array): unknown;
    signPoseidon(privateKey: Uint8Array, message: unknown): { readonly R8: unknown; readonly S: bigint };
    packSignature(signature: unknown): Uint8Array;
  }
  export function buildEddsa(): Promise<Eddsa>;
}

/**
 * The numbers that define a pairing-friendly curve, as the engine needs them. A second curve is a second constant of
 * this type and a second program in backends/.
 */
import type { Fq2 } from "../field/prime-field.js";

export interface CurveParameters {
  readonly name: "BN254";
  /** The curve's name in snarkjs files and JSON. */
  readonly snarkjsName: "bn128";
  /** Base field modulus and its bytes. */
  readonly q: bigint;
  readonly fqBytes: number;
  /** Order of the groups and its bytes. */
  readonly r: bigint;
  readonly frBytes: number;
  /** y^2 = x^3 + b on G1, y^2 = x^3 + twistB on G2. */
  readonly b: bigint;
  readonly twistB: Fq2;
  readonly generatorG1: { readonly x: bigint; readonly y: bigint };
  readonly generatorG2: { readonly x: Fq2; readonly y: Fq2 };
  /** The curve's parameter (x, u or z in the literature), positive. */
  readonly seed: bigint;
  /** Multiplying by it is the endomorphism (x, y) -> (beta x, y) of G1, beta a cube root of unity. */
  readonly endomorphismScalar: bigint;
  /** The sextic non-residue over which Fq12 is built. */
  readonly nonResidue: Fq2;
  /**
   * 2^twoAdicity divides r - 1; multiplicativeGenerator is the least non-residue mod r, from which the roots of unity
   * come.
   */
  readonly twoAdicity: number;
  readonly multiplicativeGenerator: bigint;
}

/** BN254, also bn128 and alt_bn128 (EIP-196, EIP-197). */
export const BN254: CurveParameters = {
  name: "BN254",
  snarkjsName: "bn128",
  q: 21888242871839275222246405745257275088696311157297823662689037894645226208583n,
  fqBytes: 32,
  r: 21888242871839275222246405745257275088548364400416034343698204186575808495617n,
  frBytes: 32,
  b: 3n,
  twistB: {
    c0: 19485874751759354771024239261021720505790618469301721065564631296452457478373n,
    c1: 266929791119991161246907387137283842545076965332900288569378510910307636690n,
  },
  generatorG1: { x: 1n, y: 2n },
  generatorG2: {
    x: {
      c0: 10857046999023057135944570762232829481370756359578518086990519993285655852781n,
      c1: 11559732032986387107991004021392285783925812861821192530917403151452391805634n,
    },
    y: {
      c0: 8495653923123431417604973247489272438418190587263600148770280649306958101930n,
      c1: 4082367875863433681332203403145435568316851327593401208105741076214120093531n,
    },
  },
  seed: 4965661367192848881n,
  endomorphismScalar: 4407920970296243842393367215006156084916469457145843978461n,
  nonResidue: { c0: 9n, c1: 1n },
  twoAdicity: 28,
  multiplicativeGenerator: 5n,
};

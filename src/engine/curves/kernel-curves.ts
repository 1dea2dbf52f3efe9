/**
 * Constants of the curves that the kernels know. A second curve is a second record here.
 * BN254: EIP-196 and EIP-197 (alt_bn128). BLS12-381: draft-irtf-cfrg-pairing-friendly-curves-11, section 4.2.1.
 */

export interface CurveConstants {
  readonly name: string;
  /** Prime of the coordinates. */
  readonly fq: bigint;
  /** Prime order of G1, G2 and the scalars. */
  readonly fr: bigint;
  /** Bytes of a coordinate and of a scalar in files. */
  readonly fqBytes: number;
  readonly frBytes: number;
  /** b of y^2 = x^3 + b on G1, and on the twist as c0, c1. */
  readonly g1B: bigint;
  readonly g2B: readonly [bigint, bigint];
  readonly g1: readonly [bigint, bigint];
  /** x.c0, x.c1, y.c0, y.c1. */
  readonly g2: readonly [bigint, bigint, bigint, bigint];
  /** The largest k for which 2^k divides fr - 1, and the root of unity of order 2^k that snarkjs uses. */
  readonly twoAdicity: number;
  readonly rootOfUnity: bigint;
}

export const BN254: CurveConstants = {
  name: "BN254",
  fq: 21888242871839275222246405745257275088696311157297823662689037894645226208583n,
  fr: 21888242871839275222246405745257275088548364400416034343698204186575808495617n,
  fqBytes: 32,
  frBytes: 32,
  g1B: 3n,
  g2B: [
    19485874751759354771024239261021720505790618469301721065564631296452457478373n,
    266929791119991161246907387137283842545076965332900288569378510910307636690n,
  ],
  g1: [1n, 2n],
  g2: [
    10857046999023057135944570762232829481370756359578518086990519993285655852781n,
    11559732032986387107991004021392285783925812861821192530917403151452391805634n,
    8495653923123431417604973247489272438418190587263600148770280649306958101930n,
    4082367875863433681332203403145435568316851327593401208105741076214120093531n,
  ],
  twoAdicity: 28,
  // 5^((r - 1) / 2^28): 5 is the least quadratic non-residue, as ffjavascript derives it.
  rootOfUnity: 19103219067921713944291392827692070036145651957329286315305642004821462161904n,
};

export const BLS12_381: CurveConstants = {
  name: "BLS12-381",
  fq: 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn,
  fr: 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n,
  fqBytes: 48,
  frBytes: 32,
  g1B: 4n,
  g2B: [4n, 4n],
  g1: [
    0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bbn,
    0x8b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1n,
  ],
  g2: [
    0x24aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8n,
    0x13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7en,
    0xce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801n,
    0x606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79ben,
  ],
  twoAdicity: 32,
  // 7^((r - 1) / 2^32).
  rootOfUnity: 0x16a2a19edfe81f20d09b681922c813b4b63683508c2280b93829971f439f0d2bn,
};

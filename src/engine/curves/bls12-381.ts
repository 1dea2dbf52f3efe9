/** BLS12-381: draft-irtf-cfrg-pairing-friendly-curves-11, section 4.2.1. */
import type { CurveParameters } from "./curve-parameters.js";

export const BLS12_381: CurveParameters<"BLS12_381"> = {
  name: "BLS12_381",
  snarkjsName: "bls12381",
  family: "BLS12",
  q: 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn,
  fqBytes: 48,
  r: 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n,
  frBytes: 32,
  b: 4n,
  twistB: { c0: 4n, c1: 4n },
  twistType: "M",
  // (seed - 1)^2 / 3.
  cofactorG1: 0x396c8c005555e1568c00aaab0000aaabn,
  generatorG1: {
    x: 0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bbn,
    y: 0x8b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1n,
  },
  generatorG2: {
    x: {
      c0: 0x24aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8n,
      c1: 0x13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7en,
    },
    y: {
      c0: 0xce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801n,
      c1: 0x606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79ben,
    },
  },
  seed: -0xd201000000010000n,
  endomorphismFactor:
    0x1a0111ea397fe699ec02408663d4de85aa0d857d89759ad4897d29650fb85f9b409427eb4f49fffd8bfd00000000aaacn,
  // seed^2 - 1.
  endomorphismScalar: 0xac45a4010001a40200000000ffffffffn,
  nonResidue: { c0: 1n, c1: 1n },
  twoAdicity: 32,
  leastNonResidue: 5n,
};

/** The Solidity verifier of a PLONK key, and a proof as the arguments of its `verifyProof`. */
import { primeSnarkjs, readSolidityTemplate } from "../backends/snarkjs.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { encodeG1, encodeG2 } from "../curves/points.js";
import type { G1Point } from "../curves/points.js";
import { writeBigIntLE } from "../field/bytes.js";
import { ZKEY_MAGIC, ZKEY_VERSION } from "../groth16/zkey-layout.js";
import type { PlonkProof, PlonkVerifyingKey } from "../plonk/key.js";
import { signallessTemplate } from "./signalless-template.js";
import { solidityWord } from "./solidity-word.js";

/** Arguments of `verifyProof(uint256[24] proof, uint256[n] pubSignals)`; 32-byte words, 0x-hex. */
export interface PlonkSolidityArguments {
  readonly proof: string[];
  readonly input: string[];
}

/** snarkjs' number of the scheme in its files. */
const PLONK_PROTOCOL = 2;

/**
 * snarkjs' contract takes a public signal of r and more for the number that it is modulo r, and hashes it as it stands:
 * a prover could make a second proof of one statement whose signals look new, such as a nullifier's.
 */
const CHECKED_FROM = "            checkProofData()\n            calculateChallenges(pMem, _pubSignals)\n";
const SIGNAL_CHECKS = `            checkProofData()
            <%for (let i=0; i<nPublic;i++) {%>
            checkField(calldataload(add(_pubSignals, <%=i*32%>)))
            <%}%>
            calculateChallenges(pMem, _pubSignals)
`;

/**
 * Returns the contract, from snarkjs' template (GPL-3.0) with checks that the public signals are below r. BN254 only:
 * the curve of the EVM's precompiles.
 */
export async function plonkSolidityVerifier(key: PlonkVerifyingKey, curve: CurveParameters): Promise<string> {
  const snarkjs = await primeSnarkjs();
  const template = await readSolidityTemplate("plonk");
  if (!template.includes(CHECKED_FROM)) throw new Error("snarkjs has another template for PLONK than is known");
  return await snarkjs.zKey.exportSolidityVerifier(verifierZkey(key, curve), {
    plonk: key.publicCount > 0 ? template.replace(CHECKED_FROM, SIGNAL_CHECKS) : signallessTemplate("plonk", template),
  });
}

/**
 * Returns the arguments, in the order of snarkjs' calldata.
 * @param publicSignals outputs first
 */
export function plonkSolidityArguments(
  { a, b, c, z, t1, t2, t3, wXi, wXiOmega, evaluations }: PlonkProof,
  publicSignals: readonly bigint[],
): PlonkSolidityArguments {
  const points = [a, b, c, z, t1, t2, t3, wXi, wXiOmega].flatMap(({ x, y }) => [x, y]);
  const { s1, s2, zOmega } = evaluations;
  const values = [evaluations.a, evaluations.b, evaluations.c, s1, s2, zOmega];
  return { proof: [...points, ...values].map(solidityWord), input: publicSignals.map(solidityWord) };
}

/** The part of a key that a verifier has, as a file that snarkjs' exports read: protocol and header. */
function verifierZkey(key: PlonkVerifyingKey, curve: CurveParameters): Uint8Array {
  const point = (value: G1Point | undefined): Uint8Array =>
    value === undefined ? new Uint8Array(2 * curve.fqBytes) : encodeG1(value, curve);
  const { m, l, r, o, k } = key.selectors;
  const header = Buffer.concat([
    words(curve.fqBytes),
    integer(curve.q, curve.fqBytes),
    words(curve.frBytes),
    integer(curve.r, curve.frBytes),
    // Wires, public signals, domain, additions and gates; a verifier uses the second and the third.
    words(key.publicCount + 1, key.publicCount, 2 ** key.domainPower, 0, 2 ** key.domainPower),
    montgomery(key.k1, curve),
    montgomery(key.k2, curve),
    ...[m, l, r, o, k, key.s1, key.s2, key.s3].map(point),
    encodeG2(key.tauG2, curve),
  ]);
  return Uint8Array.from(
    Buffer.concat([
      words(ZKEY_MAGIC, ZKEY_VERSION, 2),
      words(1, 4, 0, PLONK_PROTOCOL),
      words(2, header.length, 0),
      header,
    ]),
  );
}

function words(...values: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer);
}

function integer(value: bigint, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  writeBigIntLE(value, bytes, 0, length);
  return bytes;
}

function montgomery(value: bigint, { r, frBytes }: CurveParameters): Uint8Array {
  return integer((value << BigInt(8 * frBytes)) % r, frBytes);
}

/**
 * Writes a resident key as snarkjs' `.zkey` (fflonk/fflonk-zkey-layout.ts), byte for byte as `snarkjs fflonk setup`
 * does. Most of it are values at the 4 n-th roots of unity, which snarkjs does not compute again.
 */
import { BN254 } from "../../curves/bn254.js";
import { fflonkPowerCount } from "../../fflonk/fflonk-values.js";
import { FFLONK_PROTOCOL, FFLONK_SECTION, headerContent } from "../../fflonk/fflonk-zkey-layout.js";
import { GATE_WIRES } from "../../plonk/plonk-gates.js";
import type { PlonkGates } from "../../plonk/plonk-gates.js";
import { additionsContent, u32, zkeyHead, zkeySection, zkeySectionHead } from "../../plonk/zkey/zkey-parts.js";
import { openKernels } from "../kernels.js";
import { ZkeyPolynomials } from "../zkey/zkey-polynomials.js";
import { takeWorkspace } from "../threads/workspaces.js";
import { Arena } from "../wasm/arena.js";
import type { FflonkSetupPoints } from "./build-fflonk-key.js";
import { COMMITMENT_SIZES } from "./fflonk-key.js";
import type { ResidentFflonkKey } from "./fflonk-key.js";

/** snarkjs' order of the polynomials' sections. */
const POLYNOMIALS = ["l", "r", "m", "o", "k", "s1", "s2", "s3"] as const;
/** Sections of a file. */
const SECTION_COUNT = 17;

/**
 * Gives the file in pieces, the longest of 5 n numbers or 9 n points: some 70 MB in all for n = 2^15. A workspace of
 * the key is taken until the last piece is read.
 * @param gates and setup those that the key was built from
 * @throws Error when every workspace is taken
 */
export function* writeFflonkZkey(
  key: ResidentFflonkKey,
  gates: PlonkGates,
  setup: FflonkSetupPoints,
): Generator<Uint8Array> {
  const workspace = takeWorkspace(key);
  if (workspace === undefined) throw new Error("every workspace of the proving key is taken");
  try {
    const kernels = openKernels(key.memory, { preferred: key.kind, curve: BN254 });
    const polynomials = new ZkeyPolynomials(kernels, key, new Arena(workspace.start, workspace.end));
    const { wireCount, domainPower } = key;
    yield zkeyHead(SECTION_COUNT);
    yield zkeySection(FFLONK_SECTION.protocol, u32(FFLONK_PROTOCOL));
    yield zkeySection(FFLONK_SECTION.additions, additionsContent(gates, BN254));
    for (const name of GATE_WIRES) yield zkeySection(FFLONK_SECTION[name], gates.wires[name]);
    for (const name of POLYNOMIALS) yield zkeySection(FFLONK_SECTION[name], polynomials.written(key.fixed[name]));
    const lagrangeCount = Math.max(1, key.publicCount);
    yield zkeySectionHead(FFLONK_SECTION.lagrange, lagrangeCount * polynomials.writtenBytes);
    for (let i = 0; i < lagrangeCount; i += 1) yield polynomials.writtenLagrange(i);
    yield zkeySection(
      FFLONK_SECTION.powers,
      setup.powers.subarray(0, fflonkPowerCount(domainPower) * 2 * BN254.fqBytes),
    );
    yield zkeySection(FFLONK_SECTION.c0, polynomials.exported(key.c0, COMMITMENT_SIZES.c0 * 2 ** domainPower));
    const counts = { wireCount, additionCount: gates.additions.count, gateCount: gates.gateCount };
    yield zkeySection(FFLONK_SECTION.header, headerContent(key.verifyingKey, counts));
  } finally {
    workspace.release();
  }
}

/**
 * Writes a resident PLONK key as snarkjs' `.zkey` (plonk/zkey/plonk-zkey.ts), byte for byte as `snarkjs plonk setup`
 * does. Most of it are values at the 4 n-th roots of unity, which snarkjs does not compute again.
 */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { GATE_WIRES, SELECTORS } from "../../plonk/plonk-gates.js";
import type { PlonkGates } from "../../plonk/plonk-gates.js";
import { PLONK_PROTOCOL, PLONK_SECTION, PLONK_SECTION_COUNT, plonkHeaderContent } from "../../plonk/zkey/plonk-zkey.js";
import { additionsContent, u32, zkeyHead, zkeySection, zkeySectionHead } from "../../plonk/zkey/zkey-parts.js";
import { openKernels } from "../kernels.js";
import type { PlonkSetupPoints } from "../plonk/build-plonk-key.js";
import type { ResidentPlonkKey } from "../plonk/plonk-key.js";
import { EXTRA_POWERS, PERMUTATION_COLUMNS } from "../plonk/resident-circuit.js";
import { takeWorkspace } from "../threads/workspaces.js";
import { Arena } from "../wasm/arena.js";
import { ZkeyPolynomials } from "./zkey-polynomials.js";

/** What a key was built from. */
interface PlonkKeyParts {
  readonly gates: PlonkGates;
  readonly points: PlonkSetupPoints;
}

/**
 * Gives the file in pieces, the longest of 5 n numbers. A workspace of the key is taken until the last piece is read.
 * @param parts those that the key was built from
 * @throws Error when every workspace is taken
 */
export function* writePlonkZkey(
  key: ResidentPlonkKey,
  { gates, points }: PlonkKeyParts,
  curve: CurveParameters,
): Generator<Uint8Array> {
  const workspace = takeWorkspace(key);
  if (workspace === undefined) throw new Error("every workspace of the proving key is taken");
  try {
    const kernels = openKernels(key.memory, { preferred: key.kind, curve });
    const polynomials = new ZkeyPolynomials(kernels, key, new Arena(workspace.start, workspace.end));
    const { wireCount, publicCount, domainPower } = key;
    yield zkeyHead(PLONK_SECTION_COUNT);
    yield zkeySection(PLONK_SECTION.additions, additionsContent(gates, curve));
    for (const name of GATE_WIRES) yield zkeySection(PLONK_SECTION[name], gates.wires[name]);
    for (const name of SELECTORS) yield zkeySection(PLONK_SECTION[name], polynomials.written(key.fixed[name]));
    yield zkeySectionHead(PLONK_SECTION.permutation, PERMUTATION_COLUMNS.length * polynomials.writtenBytes);
    for (const name of PERMUTATION_COLUMNS) yield polynomials.written(key.fixed[name]);
    const lagrangeCount = Math.max(1, publicCount);
    yield zkeySectionHead(PLONK_SECTION.lagrange, lagrangeCount * polynomials.writtenBytes);
    for (let i = 0; i < lagrangeCount; i += 1) yield polynomials.writtenLagrange(i);
    const powerBytes = (2 ** domainPower + EXTRA_POWERS) * 2 * curve.fqBytes;
    yield zkeySection(PLONK_SECTION.powers, points.powers.subarray(0, powerBytes));
    yield zkeySection(PLONK_SECTION.protocol, u32(PLONK_PROTOCOL));
    const counts = {
      wireCount,
      publicCount,
      domainPower,
      additionCount: gates.additions.count,
      gateCount: gates.gateCount,
    };
    yield zkeySection(PLONK_SECTION.header, plonkHeaderContent(key.verifyingKey, counts, curve));
  } finally {
    workspace.release();
  }
}

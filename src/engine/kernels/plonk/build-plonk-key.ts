/**
 * Builds a resident PLONK key (plonk-key.ts) from a circuit's gates and the points of a universal setup, and commits to
 * the circuit where its commitments are not known. Runs once for each opening; the memory is then only read, but for
 * its workspaces.
 */
import type { G1Point, G2Point } from "../../curves/points.js";
import type { PlonkGates } from "../../plonk/plonk-gates.js";
import { COLUMN_FACTORS, domainPowerOf } from "../../plonk/key.js";
import type { PlonkCommitments, PlonkVerifyingKey } from "../../plonk/key.js";
import type { Kernels } from "../kernels.js";
import { msmWorkspaceBytes } from "../msm/msm-lists.js";
import { Msm } from "../msm/msm.js";
import type { Arena } from "../wasm/arena.js";
import { COSET_VECTORS, CircuitTables, tableBytes, tableScratchBytes } from "./circuit-tables.js";
import type { TabledCircuit } from "./circuit-tables.js";
import { makeKeyMemory } from "./key-memory.js";
import type { KeyMemory, KeyMemoryOptions } from "./key-memory.js";
import { BLINDING_POINTS } from "./plonk-key.js";
import type { ResidentPlonkKey } from "./plonk-key.js";
import { plonkWorkspaceBytes } from "./plonk-layout.js";
import { COSET_COUNT, EXTRA_POWERS, FIXED_POLYNOMIALS } from "./resident-circuit.js";
import type { FixedPolynomial } from "./resident-circuit.js";

/**
 * Points of a universal setup for a domain of n gates, in the form of snarkjs' files: affine, Montgomery form,
 * little-endian. No point is infinity.
 */
export interface PlonkSetupPoints {
  /** The powers 0 to n + 5 of the secret. */
  readonly powers: Uint8Array;
  /** The Lagrange polynomials of the domain at the secret. */
  readonly lagrange: Uint8Array;
  readonly tauG2: G2Point;
}

export interface PlonkKeyOptions extends KeyMemoryOptions {
  /**
   * The commitments to the circuit, where the key's gates have compared them. They only go into the verifying key:
   * proofs with a wrong one do not verify.
   */
  readonly commitments?: PlonkCommitments | undefined;
}

/**
 * Builds the key in a new memory.
 * @throws RangeError when the setup has fewer points than the circuit takes, or the key does not fit into the 4 GiB
 *   that a WebAssembly memory can have.
 */
export function buildPlonkKey(gates: PlonkGates, setup: PlonkSetupPoints, options: PlonkKeyOptions): ResidentPlonkKey {
  const domainPower = domainPowerOf(gates.gateCount);
  const circuit = { gates, domainPower, freeRows: 0, extraWires: BLINDING_POINTS };
  const size = 2 ** domainPower;
  const counts = { domainPower, wireCount: gates.systemWireCount + gates.additions.count };
  const memory = makeKeyMemory(options, (kernels) => ({
    key: tableBytes(kernels, circuit, {
      vectors: COSET_COUNT * (COSET_VECTORS + FIXED_POLYNOMIALS.length + 1),
      points: 2 * (size + EXTRA_POWERS),
    }),
    workspace: Math.max(
      plonkWorkspaceBytes(kernels, counts),
      tableScratchBytes(kernels, circuit),
      size * kernels.fr.bytes + msmWorkspaceBytes(kernels, "g1", size) + 65_536,
    ),
  }));
  return fillKey(memory, circuit, setup, options.commitments);
}

function fillKey(
  memory: KeyMemory,
  circuit: TabledCircuit,
  setup: PlonkSetupPoints,
  known: PlonkCommitments | undefined,
): ResidentPlonkKey {
  const { kernels, arenas, workspaces, keyBytes } = memory;
  const writer = new CircuitTables(kernels, arenas, circuit);
  const points = importSetup(writer, kernels, { setup, size: 2 ** circuit.domainPower });
  const tables = writer.write();
  const commitments: Partial<Record<FixedPolynomial, G1Point | undefined>> = { ...known };
  const fixed = writer.fixedPolynomials(tables, (name, values) => {
    if (known !== undefined) return;
    commitments[name] = commit(kernels, arenas.scratch, { circuit, values, points: points.lagrange, writer });
  });
  const cosets = Array.from({ length: COSET_COUNT }, (_, i) => {
    const coset = writer.coset(i, { ...tables, fixed }, FIXED_POLYNOMIALS);
    return { ...coset, firstLagrange: writer.firstLagrange(tables, coset) };
  });
  return {
    memory: kernels.memory,
    kind: kernels.kind,
    workspaces,
    keyBytes,
    verifyingKey: verifyingKeyOf(circuit, kernels, commitments as PlonkCommitments, setup.tauG2),
    ...tables,
    fixed,
    cosets,
    ...points,
    workspaceFlags: writer.workspaceFlags(workspaces.length),
  };
}

function importSetup(
  writer: CircuitTables,
  { fq }: Kernels,
  { setup, size }: { readonly setup: PlonkSetupPoints; readonly size: number },
): { powers: number; lagrange: number } {
  const pointBytes = 2 * fq.bytes;
  if (setup.powers.length < (size + EXTRA_POWERS) * pointBytes || setup.lagrange.length !== size * pointBytes)
    throw new RangeError("the setup has fewer points than the circuit takes");
  const at = (power: number): Uint8Array => setup.powers.subarray(power * pointBytes, (power + 3) * pointBytes);
  return {
    powers: writer.importPoints([setup.powers.subarray(0, (size + EXTRA_POWERS) * pointBytes)]),
    lagrange: writer.importPoints([setup.lagrange, at(0), at(size)]),
  };
}

/** Commits to a polynomial by its values. */
function commit(
  kernels: Kernels,
  scratch: Arena,
  from: {
    readonly circuit: TabledCircuit;
    readonly values: number;
    readonly points: number;
    readonly writer: CircuitTables;
  },
): G1Point | undefined {
  const count = 2 ** from.circuit.domainPower;
  return scratch.scoped(() => {
    const scalars = scratch.take(count * kernels.fr.bytes);
    kernels.call("fr_export_blocks", scalars, from.values, count / kernels.fr.lanes);
    const sum = scratch.take(kernels.g1.pointBytes);
    new Msm(kernels, "g1", scratch).run({ points: from.points, scalars, indices: 0, count }, sum);
    return from.writer.scalars.readPoint(sum);
  });
}

function verifyingKeyOf(
  { gates, domainPower }: TabledCircuit,
  { curve }: Kernels,
  commitments: PlonkCommitments,
  tauG2: G2Point,
): PlonkVerifyingKey {
  const { s1, s2, s3, ...selectors } = commitments;
  if (s1 === undefined || s2 === undefined || s3 === undefined)
    throw new RangeError("the permutation's commitment is infinity: the setup is degenerate");
  return {
    curve: curve.name,
    publicCount: gates.publicCount,
    domainPower,
    ...COLUMN_FACTORS,
    selectors,
    s1,
    s2,
    s3,
    tauG2,
  };
}

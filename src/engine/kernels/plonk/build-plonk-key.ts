/**
 * Builds a resident PLONK key (plonk-key.ts) from a circuit's gates and the points of a universal setup, and commits to
 * the circuit where its commitments are not known. Runs once for each opening; the memory is then only read, but for
 * its workspaces.
 */
import type { AnyCurve } from "../../curves/curve-parameters.js";
import type { G1Point, G2Point } from "../../curves/points.js";
import type { PlonkGates } from "../../plonk/plonk-gates.js";
import { COLUMN_FACTORS, domainPowerOf } from "../../plonk/key.js";
import type { PlonkCommitments, PlonkVerifyingKey } from "../../plonk/key.js";
import type { Kernels } from "../kernels.js";
import { msmWorkspaceBytes } from "../msm/msm-lists.js";
import { Msm } from "../msm/msm.js";
import { align } from "../wasm/arena.js";
import type { Arena } from "../wasm/arena.js";
import { vectorBytes } from "../ntt/domain.js";
import { COSET_VECTORS, CircuitTables, tableBytes, tableScratchBytes } from "./circuit-tables.js";
import type { TabledCircuit } from "./circuit-tables.js";
import { fitsKeyMemory, makeKeyMemory, sizingKernels } from "../threads/key-memory.js";
import type { KeyBytes, KeyMemory, KeyMemoryOptions } from "../threads/key-memory.js";
import { BLINDING_POINTS } from "./plonk-key.js";
import type { PlonkCoset, ResidentPlonkKey } from "./plonk-key.js";
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

/** The bytes that a key takes in a memory, and outside of it. */
export interface PlonkKeyBytes extends KeyBytes {
  readonly sections: number;
}

/** Returns the bytes of a key of a circuit: whole in one memory, or with its cosets in sections outside of it. */
export function plonkKeyBytes(kernels: Kernels, gates: PlonkGates, form: "whole" | "sectioned"): PlonkKeyBytes {
  const circuit = tabled(gates);
  const { domainPower } = circuit;
  const size = 2 ** domainPower;
  const counts = { domainPower, wireCount: gates.systemWireCount + gates.additions.count };
  const cosetVectors = COSET_VECTORS + FIXED_POLYNOMIALS.length + 1;
  const { workspace, helper } = plonkWorkspaceBytes(kernels, counts);
  const vector = align(vectorBytes(kernels, domainPower));
  return {
    key: tableBytes(kernels, circuit, {
      vectors: form === "whole" ? COSET_COUNT * cosetVectors : 0,
      points: 2 * (size + EXTRA_POWERS),
    }),
    workspace: Math.max(workspace, commitBytes(kernels, circuit), form === "whole" ? 0 : (cosetVectors + 1) * vector),
    helper,
    sections: form === "whole" ? 0 : COSET_COUNT * cosetVectors * vector,
  };
}

/**
 * Builds the key in a new memory; where one memory does not hold it, with the cosets outside in sections.
 * @throws RangeError when the setup has fewer points than the circuit takes, or the key does not fit into the 4 GiB
 *   that a WebAssembly memory can have.
 */
export function buildPlonkKey(gates: PlonkGates, setup: PlonkSetupPoints, options: PlonkKeyOptions): ResidentPlonkKey {
  const isWhole = fitsKeyMemory(plonkKeyBytes(sizingKernels(options), gates, "whole"), options);
  const form = isWhole ? "whole" : "sectioned";
  const memory = makeKeyMemory(options, (kernels) => plonkKeyBytes(kernels, gates, form));
  return fillKey(memory, { circuit: tabled(gates), form, known: options.commitments }, setup);
}

/**
 * Commits to a circuit: what a setup publishes, in less memory than the key itself.
 * @param onProgress called with the share of the commitments that are done
 * @throws RangeError as `buildPlonkKey`
 */
export function commitToCircuit(
  gates: PlonkGates,
  setup: PlonkSetupPoints,
  { curve, onProgress }: { readonly curve: AnyCurve; readonly onProgress?: (share: number) => void },
): PlonkVerifyingKey {
  const circuit = tabled(gates);
  const { kernels, arenas } = makeKeyMemory({ curve, workspaces: 1 }, (sizing) => ({
    key: plonkKeyBytes(sizing, gates, "sectioned").key,
    workspace: commitBytes(sizing, circuit),
  }));
  const writer = new CircuitTables(kernels, arenas, circuit);
  const points = importSetup(writer, kernels, { setup, size: 2 ** circuit.domainPower });
  const { commitments } = commitAll(
    { writer, tables: writer.write(), points },
    { kernels, arenas, circuit },
    { onProgress },
  );
  return verifyingKeyOf(circuit, kernels, commitments, setup.tauG2);
}

function tabled(gates: PlonkGates): TabledCircuit {
  return { gates, domainPower: domainPowerOf(gates.gateCount), freeRows: 0, extraWires: BLINDING_POINTS };
}

/** Scratch of the tables and of the commitments. */
function commitBytes(kernels: Kernels, circuit: TabledCircuit): number {
  const size = 2 ** circuit.domainPower;
  return Math.max(
    tableScratchBytes(kernels, circuit),
    size * kernels.fr.bytes + msmWorkspaceBytes(kernels, "g1", size) + 65_536,
  );
}

function commitAll(
  from: {
    readonly writer: CircuitTables;
    readonly tables: ReturnType<CircuitTables["write"]>;
    readonly points: { readonly lagrange: number };
  },
  { kernels, arenas, circuit }: Pick<KeyMemory, "kernels" | "arenas"> & { readonly circuit: TabledCircuit },
  options: {
    readonly known?: PlonkCommitments | undefined;
    readonly onProgress?: ((share: number) => void) | undefined;
  } = {},
): { readonly commitments: PlonkCommitments; readonly fixed: Record<FixedPolynomial, number> } {
  const { writer, tables, points } = from;
  const commitments: Partial<Record<FixedPolynomial, G1Point | undefined>> = { ...options.known };
  let done = 0;
  const fixed = writer.fixedPolynomials(tables, (name, values) => {
    if (options.known !== undefined) return;
    commitments[name] = commit(kernels, arenas.scratch, { circuit, values, points: points.lagrange, writer });
    done += 1;
    options.onProgress?.(done / FIXED_POLYNOMIALS.length);
  });
  return { commitments: commitments as PlonkCommitments, fixed };
}

function fillKey(
  memory: KeyMemory,
  {
    circuit,
    form,
    known,
  }: {
    readonly circuit: TabledCircuit;
    readonly form: "whole" | "sectioned";
    readonly known: PlonkCommitments | undefined;
  },
  setup: PlonkSetupPoints,
): ResidentPlonkKey {
  const { kernels, arenas, workspaces, helperPlaces, keyBytes } = memory;
  const writer = new CircuitTables(kernels, arenas, circuit);
  const points = importSetup(writer, kernels, { setup, size: 2 ** circuit.domainPower });
  const tables = writer.write();
  const { commitments, fixed } = commitAll({ writer, tables, points }, { kernels, arenas, circuit }, { known });
  const cosets = Array.from({ length: COSET_COUNT }, (_, i): PlonkCoset => {
    if (form === "sectioned") return writer.sectionedCoset(i, { ...tables, fixed }, FIXED_POLYNOMIALS);
    const coset = writer.coset(i, { ...tables, fixed }, FIXED_POLYNOMIALS);
    return { ...coset, firstLagrange: writer.firstLagrange(tables, coset) };
  });
  return {
    memory: kernels.memory,
    kind: kernels.kind,
    workspaces,
    helperPlaces,
    keyBytes,
    ...(form === "whole" ? {} : { sectionBytes: plonkKeyBytes(kernels, circuit.gates, form).sections }),
    verifyingKey: verifyingKeyOf(circuit, kernels, commitments, setup.tauG2),
    ...tables,
    fixed,
    cosets,
    ...points,
    workspaceFlags: writer.workspaceFlags(workspaces.length + helperPlaces.length),
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

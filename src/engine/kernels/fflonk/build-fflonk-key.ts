/**
 * Builds a resident FFLONK key (fflonk-key.ts) from a circuit's gates and the powers of a universal setup, and commits
 * to the circuit where its commitment is not known. Runs once for each opening; the memory is then only read, but for
 * its workspaces.
 */
import { BN254 } from "../../curves/bn254.js";
import type { G1Point, G2Point } from "../../curves/points.js";
import {
  BLINDING_ROWS,
  CIRCUIT_POLYNOMIALS,
  fflonkDomainPowerOf,
  fflonkPowerCount,
} from "../../fflonk/fflonk-values.js";
import type { PlonkGates } from "../../plonk/plonk-gates.js";
import type { Kernels } from "../kernels.js";
import { msmWorkspaceBytes } from "../msm/msm-lists.js";
import { Msm } from "../msm/msm.js";
import { COSET_VECTORS, CircuitTables, tableBytes, tableScratchBytes } from "../plonk/circuit-tables.js";
import type { TabledCircuit } from "../plonk/circuit-tables.js";
import { makeKeyMemory } from "../threads/key-memory.js";
import type { KeyBytes, KeyMemory, KeyMemoryOptions } from "../threads/key-memory.js";
import { COSET_COUNT, FIXED_POLYNOMIALS, PERMUTATION_COLUMNS } from "../plonk/resident-circuit.js";
import type { FixedPolynomial } from "../plonk/resident-circuit.js";
import type { Arena } from "../wasm/arena.js";
import { COMMITMENT_SIZES } from "./fflonk-key.js";
import type { ResidentFflonkKey } from "./fflonk-key.js";
import { fflonkWorkspaceBytes } from "./fflonk-layout.js";

/** The powers 0 to 9 n + 17 of a setup's secret as in snarkjs' files: affine, Montgomery form, little-endian. */
export interface FflonkSetupPoints {
  readonly powers: Uint8Array;
  readonly tauG2: G2Point;
}

export interface FflonkKeyOptions extends Omit<KeyMemoryOptions, "curve"> {
  /**
   * The commitment to the circuit, where the key's gates have compared it. It only goes into the verifying key: proofs
   * with a wrong one do not verify.
   */
  readonly c0?: G1Point;
}

/** Returns the bytes of a key, and of each of its workspaces: all memory that setup and proofs take. */
export function fflonkKeyBytes(kernels: Kernels, gates: PlonkGates): KeyBytes {
  const circuit = tabled(gates);
  const { domainPower } = circuit;
  const size = 2 ** domainPower;
  const { bytes, elementBytes } = kernels.fr;
  const count = COMMITMENT_SIZES.c0 * size;
  const counts = { domainPower, wireCount: gates.systemWireCount + gates.additions.count };
  const { workspace, helper } = fflonkWorkspaceBytes(kernels, counts);
  const selectors = FIXED_POLYNOMIALS.length - PERMUTATION_COLUMNS.length;
  return {
    key:
      count * elementBytes +
      tableBytes(kernels, circuit, {
        vectors: COSET_COUNT * (COSET_VECTORS + PERMUTATION_COLUMNS.length) + 2 * selectors,
        points: COMMITMENT_SIZES.c2 * size,
      }),
    helper,
    workspace: Math.max(
      workspace,
      tableScratchBytes(kernels, circuit),
      count * bytes + msmWorkspaceBytes(kernels, "g1", count) + 65_536,
    ),
  };
}

/**
 * Builds the key in a new memory.
 * @throws RangeError when the setup has fewer points than the circuit takes, or the key does not fit into the 4 GiB
 *   that a WebAssembly memory can have.
 */
export function buildFflonkKey(
  gates: PlonkGates,
  setup: FflonkSetupPoints,
  options: FflonkKeyOptions,
): ResidentFflonkKey {
  const pointBytes = 2 * BN254.fqBytes;
  if (setup.powers.length < fflonkPowerCount(fflonkDomainPowerOf(gates.gateCount)) * pointBytes)
    throw new RangeError("the setup has fewer points than the circuit takes");
  const memory = makeKeyMemory({ ...options, curve: BN254 }, (kernels) => fflonkKeyBytes(kernels, gates));
  return fillKey(memory, tabled(gates), setup, options.c0);
}

function tabled(gates: PlonkGates): TabledCircuit {
  const domainPower = fflonkDomainPowerOf(gates.gateCount);
  return { gates, domainPower, freeRows: BLINDING_ROWS, extraWires: BLINDING_ROWS };
}

function fillKey(
  memory: KeyMemory,
  circuit: TabledCircuit,
  setup: FflonkSetupPoints,
  known: G1Point | undefined,
): ResidentFflonkKey {
  const { kernels, arenas, workspaces, helperPlaces, keyBytes } = memory;
  const writer = new CircuitTables(kernels, arenas, circuit);
  const count = COMMITMENT_SIZES.c2 * 2 ** circuit.domainPower;
  const powers = writer.importPoints([setup.powers.subarray(0, count * 2 * kernels.fq.bytes)]);
  const tables = writer.write();
  const fixed = writer.fixedPolynomials(tables);
  const all = { ...tables, fixed };
  const [first, second, third, fourth] = [
    writer.coset(0, all, FIXED_POLYNOMIALS),
    writer.coset(1, all, PERMUTATION_COLUMNS),
    writer.coset(2, all, FIXED_POLYNOMIALS),
    writer.coset(3, all, PERMUTATION_COLUMNS),
  ];
  const c0 = interleave(kernels, arenas.key, { fixed, places: tables.places, domainPower: circuit.domainPower });
  const commitment = known ?? commit(kernels, arenas.scratch, { coefficients: c0, powers, circuit, writer });
  return {
    memory: kernels.memory,
    kind: kernels.kind,
    workspaces,
    helperPlaces,
    keyBytes,
    verifyingKey: {
      curve: BN254.name,
      publicCount: circuit.gates.publicCount,
      domainPower: circuit.domainPower,
      c0: commitment,
      tauG2: setup.tauG2,
    },
    ...all,
    cosets: [first, second, third, fourth],
    gateCosets: [first, third],
    c0,
    powers,
    workspaceFlags: writer.workspaceFlags(workspaces.length + helperPlaces.length),
  };
}

/** Writes C0: the eight polynomials, each at its own of every eight places. */
function interleave(
  kernels: Kernels,
  arena: Arena,
  from: {
    readonly fixed: Readonly<Record<FixedPolynomial, number>>;
    readonly places: number;
    readonly domainPower: number;
  },
): number {
  const { elementBytes } = kernels.fr;
  const size = 2 ** from.domainPower;
  const target = arena.take(COMMITMENT_SIZES.c0 * size * elementBytes);
  const stride = CIRCUIT_POLYNOMIALS.length * elementBytes;
  for (const [i, name] of CIRCUIT_POLYNOMIALS.entries())
    kernels.call("fr_order_elements", target + i * elementBytes, from.fixed[name], from.places, size, stride);
  return target;
}

function commit(
  kernels: Kernels,
  scratch: Arena,
  from: {
    readonly coefficients: number;
    readonly powers: number;
    readonly circuit: TabledCircuit;
    readonly writer: CircuitTables;
  },
): G1Point {
  const count = COMMITMENT_SIZES.c0 * 2 ** from.circuit.domainPower;
  return scratch.scoped(() => {
    const scalars = scratch.take(count * kernels.fr.bytes);
    kernels.call("fr_export_plain", scalars, from.coefficients, count);
    const sum = scratch.take(kernels.g1.pointBytes);
    new Msm(kernels, "g1", scratch).run({ points: from.powers, scalars, indices: 0, count }, sum);
    const point = from.writer.scalars.readPoint(sum);
    if (point === undefined) throw new RangeError("the circuit's commitment is infinity: the setup is degenerate");
    return point;
  });
}

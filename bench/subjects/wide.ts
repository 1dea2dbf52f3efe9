/**
 * The kernels on four lanes beside the same on two, in one process and in turn, so that the machine's other work falls on
 * both. Says why where this Node and CPU have no four lanes.
 */
import { randomBytes, randomInt } from "node:crypto";
import { BLS12_381 } from "../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { generatorCoordinates } from "../../src/engine/curves/curve-parameters.js";
import type { CurveParameters } from "../../src/engine/curves/curve-parameters.js";
import { decodeProofs, encodeProofHex } from "../../src/engine/encoding/groth16-proof.js";
import { loadPairing } from "../../src/engine/groth16/pairing-backend.js";
import { proveGroth16, publicSignalsOf } from "../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../src/engine/groth16/setup.js";
import { prepareWith } from "../../src/engine/groth16/verify.js";
import { verifyGroth16Batch } from "../../src/engine/groth16/verify-batch.js";
import { ResidentProver } from "../../src/engine/kernels/groth16/resident-prover.js";
import { makeKeyResident } from "../../src/engine/kernels/groth16/resident-proving.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../../src/engine/kernels/kernels.js";
import type { Kernels } from "../../src/engine/kernels/kernels.js";
import { FixedBase } from "../../src/engine/kernels/msm/fixed-base.js";
import { Msm } from "../../src/engine/kernels/msm/msm.js";
import { msmWorkspaceBytes } from "../../src/engine/kernels/msm/msm-lists.js";
import { Domain, vectorBytes, writeDomainTables } from "../../src/engine/kernels/ntt/domain.js";
import { LIST_ENTRY_BYTES } from "../../src/engine/kernels/point/batch-layout.js";
import { scratchBytesFor } from "../../src/engine/kernels/wasm/scratch-bytes.js";
import { Arena } from "../../src/engine/kernels/wasm/arena.js";
import { onTwoLanes, whileChecked } from "../../src/engine/kernels/wide/wide-form.js";
import { loadCircuit } from "../circuits.js";
import { chooseForm } from "../kernel-form.js";
import { loadKey } from "../keys.js";
import { summarize } from "../sample.js";
import type { BenchRow, BenchSubject, Report } from "../subject.js";

type Row = Pick<BenchRow, "id" | "circuit" | "unit">;

/** What is measured of a curve. */
interface Plan {
  readonly curve: CurveParameters;
  readonly quick: Extent;
  readonly full: Extent;
}

interface Extent {
  readonly circuits: readonly string[];
  readonly sums: readonly (readonly ["g1" | "g2", number])[];
  readonly transformLogs: readonly number[];
}

/** The inputs of `merkle_20` satisfy it over every field, those of `merkle_membership` do not. */
const PLANS: readonly Plan[] = [
  {
    curve: BN254,
    quick: { circuits: ["merkle_membership"], sums: [["g1", 14]], transformLogs: [14] },
    full: {
      circuits: ["merkle_membership", "sha256_preimage", "sha256_1536"],
      sums: [
        ["g1", 14],
        ["g1", 16],
        ["g2", 12],
        ["g2", 14],
      ],
      transformLogs: [14, 17],
    },
  },
  {
    curve: BLS12_381,
    quick: { circuits: ["merkle_20"], sums: [["g1", 14]], transformLogs: [14] },
    full: {
      circuits: ["merkle_20", "sha256_preimage"],
      sums: [
        ["g1", 14],
        ["g1", 16],
        ["g2", 14],
      ],
      transformLogs: [17],
    },
  },
];
/** Its proofs are verified. */
const VERIFIED_CIRCUIT = "cubic";
const PAGE_BYTES = 65_536;
/** Additions of a batch, and batches of a sample. */
const ADDITIONS = 4096;
const ADDITION_BATCHES = 20;
/** Calls before any is timed, of each form: V8 optimises what is called often. A short call needs many. */
const WARMUPS = 4;
const WARMUP_MS = 500;
/** Verifications are short: so many more of them are timed. */
const VERIFY_SAMPLES = 20;

export const subject: BenchSubject = {
  name: "wide",
  title: "Kernels on four lanes",
  run: async (report, { quick }) => {
    const { forms, reason, findings } = await chooseForm();
    if (forms === undefined) {
      report({ subject: "wide", id: "lanes", peer: "proofwright", unit: "count", median: 2, samples: 1, note: reason });
      return;
    }
    for (const { curve } of PLANS) {
      const speedups = findings.filter((finding) => finding.curve === curve.name);
      const note = speedups.map(({ kernel, speedup }) => `${kernel} ${(speedup ?? 0).toFixed(2)}`).join(", ");
      const id = rowId("lanes", curve);
      const median = forms.forms.some((form) => form.curve === curve.name) ? 4 : 2;
      report({ subject: "wide", id, peer: "proofwright", unit: "count", median, samples: 1, note });
    }
    const [size, samples] = quick ? (["quick", 5] as const) : (["full", 15] as const);
    for (const { curve, ...extents } of PLANS) {
      const { circuits, sums, transformLogs } = extents[size];
      const bench = { curve, samples, report };
      for (const group of ["g1", "g2"] as const) measureAdditions(group, bench);
      for (const [group, log] of sums) measureSums(group, log, bench);
      for (const log of transformLogs) measureTransforms(log, bench);
      for (const name of circuits) await measureProofs(name, bench);
      await measureVerifications(bench);
    }
  },
};

interface CurveBench {
  readonly curve: CurveParameters;
  readonly samples: number;
  readonly report: Report;
}

/** The name of a row says which curve it is on where that is not BN254. */
function rowId(id: string, curve: CurveParameters): string {
  return curve === BN254 ? id : `${id}_${curve.name}`;
}

/**
 * Runs something in both forms by turns; gives wall time, and processor time of the process, of each of so many items.
 */
function inTurn(
  { items = 1, ...row }: Row & { readonly items?: number },
  { curve, samples, report }: CurveBench,
  action: () => void,
): void {
  const id = rowId(row.id, curve);
  const times = {
    four: { wall: [] as number[], cpu: [] as number[] },
    two: { wall: [] as number[], cpu: [] as number[] },
  };
  const startedMs = performance.now();
  for (let i = 0; i < WARMUPS || performance.now() - startedMs < WARMUP_MS; i += 1) {
    action();
    onTwoLanes(action);
  }
  for (let i = 0; i < samples; i += 1) {
    for (const form of ["four", "two"] as const) {
      const [beganMs, cpu] = [performance.now(), process.cpuUsage()];
      if (form === "four") action();
      else onTwoLanes(action);
      const [wallMs, { user, system }] = [performance.now() - beganMs, process.cpuUsage(cpu)];
      times[form].wall.push(wallMs / items);
      times[form].cpu.push((user + system) / 1000 / items);
    }
  }
  for (const [peer, { wall, cpu }] of [
    ["proofwright, four lanes", times.four],
    ["two lanes", times.two],
  ] as const) {
    report({ subject: "wide", ...row, id, peer, ...summarize(wall) });
    report({ subject: "wide", ...row, id: `${id}_cpu`, peer, ...summarize(cpu) });
  }
}

/** Kernels on a memory of their own, with random points. */
function withPoints(
  group: "g1" | "g2",
  {
    curve,
    count,
    extraBytes,
  }: { readonly curve: CurveParameters; readonly count: number; readonly extraBytes: number },
): { kernels: Kernels; arena: Arena; points: number } {
  const rawBytes = (group === "g1" ? 2 : 4) * curve.fqBytes;
  const sizing = loadKernels({ curve, pages: 1 });
  const bytes = count * (sizing[group].pointBytes + rawBytes) + extraBytes;
  const pages = Math.ceil((bytes + (192 << 20)) / PAGE_BYTES);
  const kernels = loadKernels({ curve, pages, isChecked: true });
  const arena = new Arena(KERNEL_RESERVED_BYTES, pages * PAGE_BYTES);
  const { pointBytes } = kernels[group];
  const points = arena.take(count * pointBytes);
  arena.scoped(() => {
    const generator = arena.take(pointBytes);
    kernels.writePoint(generator, generatorCoordinates(kernels.curve, group), arena.take(4 * curve.fqBytes));
    const raw = new Uint8Array(count * rawBytes);
    new FixedBase(kernels, group, arena, { point: generator, expectedCount: count }).multiply(
      randomScalars(count),
      raw,
    );
    const address = arena.take(raw.length);
    kernels.bytes(address, raw.length).set(raw);
    kernels.call("fq_import_foreign", points, address, raw.length / curve.fqBytes);
  });
  return { kernels, arena, points };
}

/** Batches of additions of random points out of many, as the first round of a sum has them. */
function measureAdditions(group: "g1" | "g2", bench: CurveBench): void {
  const count = 2 ** 16;
  const { kernels, arena, points } = withPoints(group, { curve: bench.curve, count, extraBytes: 0 });
  const { pointBytes, batchScratch, entriesPerStep } = kernels[group];
  const list = arena.take((ADDITIONS + entriesPerStep) * LIST_ENTRY_BYTES);
  const targets = arena.take(ADDITIONS * pointBytes);
  const scratch = arena.take(scratchBytesFor(batchScratch, ADDITIONS + entriesPerStep));
  const numbers = Uint16Array.from({ length: 2 * ADDITIONS }, () => randomInt(count));
  for (let i = 0; i < ADDITIONS; i += 1) {
    const [left, right] = [0, 1].map((side) => points + (numbers[2 * i + side] ?? 0) * pointBytes) as [number, number];
    kernels.words(list + i * LIST_ENTRY_BYTES, 3).set([left, right | (i & 1), targets + i * pointBytes]);
  }
  inTurn({ id: `add_${group}_2^12_batches`, unit: "ms" }, bench, () => {
    for (let batch = 0; batch < ADDITION_BATCHES; batch += 1) kernels.addBatch(group, list, ADDITIONS, scratch);
  });
}

function measureSums(group: "g1" | "g2", log: number, bench: CurveBench): void {
  const { curve } = bench;
  const count = 2 ** log;
  const sizing = loadKernels({ curve, pages: 1 });
  const extraBytes = msmWorkspaceBytes(sizing, group, count) + 64 * count;
  const { kernels, arena, points } = withPoints(group, { curve, count, extraBytes });
  const [scalars, target] = [arena.take(32 * count), arena.take(kernels[group].pointBytes)];
  kernels.bytes(scalars, 32 * count).set(randomScalars(count));
  const msm = new Msm(kernels, group, arena);
  inTurn({ id: `msm_${group}_2^${String(log)}`, unit: "ms" }, bench, () => {
    msm.run({ points, scalars, indices: 0, count }, target);
  });
}

function measureTransforms(log: number, bench: CurveBench): void {
  const { curve } = bench;
  const count = 2 ** log;
  const pages = Math.ceil((4 * count * 48 + (2 << 20)) / PAGE_BYTES);
  const kernels = loadKernels({ curve, pages, isChecked: true });
  const arena = new Arena(KERNEL_RESERVED_BYTES, pages * PAGE_BYTES);
  const [tables, data] = [0, 0].map(() => arena.take(vectorBytes(kernels, log))) as [number, number];
  writeDomainTables(kernels, log, { target: tables, scratch: arena.take(512) });
  const raw = arena.take(32 * count);
  kernels.bytes(raw, 32 * count).set(randomScalars(count));
  kernels.call("fr_import_raw", data, raw, count);
  const domain = new Domain(kernels, log, tables);
  inTurn({ id: `ntt_2^${String(log)}`, unit: "ms" }, bench, () => {
    domain.forward(data);
  });
}

async function measureProofs(name: string, bench: CurveBench): Promise<void> {
  const circuit = await loadCircuit(name, bench.curve);
  const { zkey } = await loadKey(circuit);
  const prover = new ResidentProver(makeKeyResident(readProvingKey(zkey), { workspaces: 1 }));
  const blinding = { r: 1n, s: 1n };
  const [four, two] = [
    prover.prove(circuit.witness, blinding),
    onTwoLanes(() => prover.prove(circuit.witness, blinding)),
  ];
  if (four.proof.c?.[0] !== two.proof.c?.[0]) throw new Error(`${name}: the proofs on four and two lanes differ`);
  inTurn({ id: "prove", circuit: name, unit: "ms" }, bench, () => {
    prover.prove(circuit.witness, blinding);
  });
}

/** One proof, and each of a batch, decoded and verified as a server does; what it computes again does not count. */
async function measureVerifications(bench: CurveBench): Promise<void> {
  const { curve } = bench;
  const samples = VERIFY_SAMPLES * bench.samples;
  const circuit = await loadCircuit(VERIFIED_CIRCUIT, curve);
  const { zkey, verifyingKey } = await setupGroth16(circuit.r1cs);
  const key = readProvingKey(zkey);
  const prepared = prepareWith(await loadPairing("wasm", curve), verifyingKey);
  const hex = encodeProofHex(await proveGroth16(key, circuit.witness), curve);
  const publicSignals = publicSignalsOf(key, circuit.witness);
  for (const [id, items] of [
    ["verify", 1],
    ["verify_batch_64", 64],
  ] as const) {
    const hexes = Array.from({ length: items }, () => hex);
    inTurn(
      { id, circuit: VERIFIED_CIRCUIT, unit: "ms", items },
      { ...bench, samples: Math.ceil(samples / items) + bench.samples },
      () => {
        whileChecked(() => {
          const claims = decodeProofs(hexes, prepared.kernels).map((decoded) => {
            if (!decoded.ok) throw new Error(decoded.message);
            return { proof: decoded.value, publicSignals };
          });
          if (verifyGroth16Batch(prepared, claims).includes(false)) throw new Error("a proof does not verify");
        });
      },
    );
  }
}

/** Little-endian scalars below 2^253. */
function randomScalars(count: number): Uint8Array {
  const bytes = Uint8Array.from(randomBytes(32 * count));
  for (let i = 31; i < bytes.length; i += 32) bytes[i] = (bytes[i] ?? 0) & 0x1f;
  return bytes;
}

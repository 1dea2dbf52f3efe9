/**
 * The kernels on four lanes beside the same on two, in one process and in turn, so that the machine's other work falls on
 * both. Says why where this Node and CPU have no four lanes.
 */
import { randomBytes } from "node:crypto";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { generatorCoordinates } from "../../src/engine/curves/curve-parameters.js";
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
import { FixedBase } from "../../src/engine/kernels/msm/fixed-base.js";
import { Msm } from "../../src/engine/kernels/msm/msm.js";
import { msmWorkspaceBytes } from "../../src/engine/kernels/msm/msm-lists.js";
import { Domain, vectorBytes, writeDomainTables } from "../../src/engine/kernels/ntt/domain.js";
import { Arena } from "../../src/engine/kernels/wasm/arena.js";
import { onTwoLanes, whileChecked } from "../../src/engine/kernels/wide/wide-form.js";
import { loadCircuit } from "../circuits.js";
import { chooseForm } from "../kernel-form.js";
import { loadKey } from "../keys.js";
import { summarize } from "../sample.js";
import type { BenchRow, BenchSubject, Report } from "../subject.js";

type Row = Pick<BenchRow, "id" | "circuit" | "unit">;

const CIRCUITS = {
  quick: ["merkle_membership"],
  full: ["merkle_membership", "sha256_preimage", "sha256_1536"],
} as const;
const SUMS = {
  quick: [["g1", 14] as const],
  full: [["g1", 14] as const, ["g1", 16] as const, ["g2", 12] as const, ["g2", 14] as const],
} as const;
const VERIFIED_CIRCUIT = "cubic";
const TRANSFORM_LOGS = { quick: [14], full: [14, 17] } as const;
const PAGE_BYTES = 65_536;
/** Calls before any is timed, of each form: V8 optimises what is called often. A short call needs many. */
const WARMUPS = 4;
const WARMUP_MS = 500;

export const subject: BenchSubject = {
  name: "wide",
  title: "Kernels on four lanes",
  run: async (report, { quick }) => {
    const { forms, reason, findings } = await chooseForm();
    if (forms === undefined) {
      report({ subject: "wide", id: "lanes", peer: "proofwright", unit: "count", median: 2, samples: 1, note: reason });
      return;
    }
    const note = findings.map(({ kernel, speedup }) => `${kernel} ${(speedup ?? 0).toFixed(2)}`).join(", ");
    report({ subject: "wide", id: "lanes", peer: "proofwright", unit: "count", median: 4, samples: 1, note });
    const [size, samples] = quick ? (["quick", 5] as const) : (["full", 15] as const);
    for (const [group, log] of SUMS[size]) sums(group, log, samples, report);
    for (const log of TRANSFORM_LOGS[size]) transforms(log, samples, report);
    for (const name of CIRCUITS[size]) await proofs(name, samples, report);
    await verifications(20 * samples, report);
  },
};

/**
 * Runs something in both forms by turns; gives wall time, and processor time of the process, of each of so many items.
 */
function inTurn(
  { items = 1, ...row }: Row & { readonly items?: number },
  samples: number,
  report: Report,
  action: () => void,
): void {
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
    report({ subject: "wide", ...row, peer, ...summarize(wall) });
    report({ subject: "wide", ...row, id: `${row.id}_cpu`, peer, ...summarize(cpu) });
  }
}

function sums(group: "g1" | "g2", log: number, samples: number, report: Report): void {
  const count = 2 ** log;
  const rawBytes = group === "g1" ? 64 : 128;
  const sizing = loadKernels({ pages: 1 });
  const bytes = msmWorkspaceBytes(sizing, group, count) + count * (sizing[group].pointBytes + rawBytes + 64);
  const pages = Math.ceil((bytes + (192 << 20)) / PAGE_BYTES);
  const kernels = loadKernels({ pages, isChecked: true });
  const arena = new Arena(KERNEL_RESERVED_BYTES, pages * PAGE_BYTES);
  const { pointBytes } = kernels[group];
  const [points, scalars, target] = [count * pointBytes, 32 * count, pointBytes].map((each) => arena.take(each)) as [
    number,
    number,
    number,
  ];
  arena.scoped(() => {
    const generator = arena.take(pointBytes);
    kernels.writePoint(generator, generatorCoordinates(kernels.curve, group), arena.take(256));
    const raw = new Uint8Array(count * rawBytes);
    new FixedBase(kernels, group, arena, { point: generator, expectedCount: count }).multiply(
      randomScalars(count),
      raw,
    );
    const address = arena.take(raw.length);
    kernels.bytes(address, raw.length).set(raw);
    kernels.call("fq_import_foreign", points, address, raw.length / 32);
  });
  kernels.bytes(scalars, 32 * count).set(randomScalars(count));
  const msm = new Msm(kernels, group, arena);
  inTurn({ id: `msm_${group}_2^${String(log)}`, unit: "ms" }, samples, report, () => {
    msm.run({ points, scalars, indices: 0, count }, target);
  });
}

function transforms(log: number, samples: number, report: Report): void {
  const count = 2 ** log;
  const pages = Math.ceil((4 * count * 48 + (2 << 20)) / PAGE_BYTES);
  const kernels = loadKernels({ pages, isChecked: true });
  const arena = new Arena(KERNEL_RESERVED_BYTES, pages * PAGE_BYTES);
  const [tables, data] = [0, 0].map(() => arena.take(vectorBytes(kernels, log))) as [number, number];
  writeDomainTables(kernels, log, { target: tables, scratch: arena.take(512) });
  const raw = arena.take(32 * count);
  kernels.bytes(raw, 32 * count).set(randomScalars(count));
  kernels.call("fr_import_raw", data, raw, count);
  const domain = new Domain(kernels, log, tables);
  inTurn({ id: `ntt_2^${String(log)}`, unit: "ms" }, samples, report, () => {
    domain.forward(data);
  });
}

async function proofs(name: string, samples: number, report: Report): Promise<void> {
  const circuit = await loadCircuit(name);
  const { zkey } = await loadKey(circuit);
  const prover = new ResidentProver(makeKeyResident(readProvingKey(zkey), { workspaces: 1 }));
  const blinding = { r: 1n, s: 1n };
  const [four, two] = [
    prover.prove(circuit.witness, blinding),
    onTwoLanes(() => prover.prove(circuit.witness, blinding)),
  ];
  if (four.proof.c?.[0] !== two.proof.c?.[0]) throw new Error(`${name}: the proofs on four and two lanes differ`);
  inTurn({ id: "prove", circuit: name, unit: "ms" }, samples, report, () => {
    prover.prove(circuit.witness, blinding);
  });
}

/** One proof, and each of a batch, decoded and verified as a server does; what it computes again does not count. */
async function verifications(samples: number, report: Report): Promise<void> {
  const circuit = await loadCircuit(VERIFIED_CIRCUIT);
  const { zkey, verifyingKey } = await setupGroth16(circuit.r1cs);
  const key = readProvingKey(zkey);
  const prepared = prepareWith(await loadPairing("wasm"), verifyingKey);
  const hex = encodeProofHex(await proveGroth16(key, circuit.witness), BN254);
  const publicSignals = publicSignalsOf(key, circuit.witness);
  for (const [id, items] of [
    ["verify", 1],
    ["verify_batch_64", 64],
  ] as const) {
    const hexes = Array.from({ length: items }, () => hex);
    inTurn(
      { id, circuit: VERIFIED_CIRCUIT, unit: "ms", items },
      Math.ceil(samples / items) + samples / 20,
      report,
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

/**
 * The WebAssembly kernels on one thread, beside ffjavascript and snarkjs with their curve kept, in the same process and
 * the same run.
 */
import { randomBytes } from "node:crypto";
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { BN254 as CURVE } from "../../src/engine/curves/bn254.js";
import { generatorCoordinates } from "../../src/engine/curves/curve-parameters.js";
import { randomNonZero } from "../../src/engine/field/bytes.js";
import { publicSignalsOf } from "../../src/engine/groth16/prove.js";
import { readProvingKey, verifyingKeyOf } from "../../src/engine/groth16/proving-key.js";
import { loadPairing } from "../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../src/engine/groth16/verify.js";
import { Arena } from "../../src/engine/kernels/wasm/arena.js";
import { Domain, vectorBytes, writeDomainTables } from "../../src/engine/kernels/ntt/domain.js";
import { FixedBase } from "../../src/engine/kernels/msm/fixed-base.js";
import { ResidentProver } from "../../src/engine/kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "../../src/engine/kernels/groth16/resident-proving.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../../src/engine/kernels/kernels.js";
import type { Kernels } from "../../src/engine/kernels/kernels.js";
import { Msm } from "../../src/engine/kernels/msm/msm.js";
import { msmWorkspaceBytes } from "../../src/engine/kernels/msm/msm-lists.js";
import { isWideOn } from "../../src/engine/kernels/wide/wide-form.js";
import { loadCircuit, wtnsFile } from "../circuits.js";
import { chooseForm } from "../kernel-form.js";
import { loadKey } from "../keys.js";
import { sampleMs, summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

/** ffjavascript's curve, as far as it is measured here. */
interface PeerCurve {
  readonly Fr: {
    mul(a: Uint8Array, b: Uint8Array): Uint8Array;
    random(): Uint8Array;
    fft(values: Uint8Array): Promise<Uint8Array>;
  };
  readonly G1: PeerGroup;
  readonly G2: PeerGroup;
}

interface PeerGroup {
  multiExpAffine(points: Uint8Array, scalars: Uint8Array): Promise<Uint8Array>;
  toAffine(point: Uint8Array): Uint8Array;
}

type Group = "g1" | "g2";

const SIZES = {
  quick: { g1: [12, 14], g2: [12], ntt: [12, 14] },
  full: { g1: [10, 12, 14, 16], g2: [12, 14], ntt: [14, 16, 17, 18] },
} as const;
const PROVE_CIRCUITS = {
  quick: ["cubic"],
  full: ["cubic", "merkle_membership", "eddsa_signature", "sha256_preimage", "sha256_1536"],
} as const;
const PAGE_BYTES = 65_536;
const MULTIPLICATIONS = 1 << 14;

export const subject: BenchSubject = {
  name: "kernels",
  title: "WebAssembly kernels, one thread",
  run: async (report, { quick }) => {
    await chooseForm();
    await primeSnarkjs();
    const peer = (globalThis as unknown as { curve_bn128: PeerCurve }).curve_bn128;
    const samples = quick ? 3 : 7;
    const sizes = quick ? SIZES.quick : SIZES.full;
    await multiplications(peer, samples, report);
    for (const group of ["g1", "g2"] as const)
      for (const log of sizes[group]) await sums(peer, group, log, samples, report);
    for (const log of sizes.ntt) await transforms(peer, log, samples, report);
    for (const name of quick ? PROVE_CIRCUITS.quick : PROVE_CIRCUITS.full) await proofs(name, samples, report);
  },
};

function newKernels(preferred: "fma" | "integer", bytes: number): { kernels: Kernels; arena: Arena; peerName: string } {
  const pages = Math.ceil((bytes + KERNEL_RESERVED_BYTES) / PAGE_BYTES) + 16;
  const kernels = loadKernels({ preferred, pages, isChecked: true });
  return {
    kernels,
    arena: new Arena(KERNEL_RESERVED_BYTES, pages * PAGE_BYTES),
    peerName: nameOf(kernels.kind),
  };
}

/** Kernels of floating-point products have two forms; the server takes the four lanes where it can, and so does this. */
function nameOf(kind: Kernels["kind"]): string {
  return `proofwright ${kind}${kind === "fma" && isWideOn() ? ", four lanes" : ""}`;
}

async function multiplications(peer: PeerCurve, samples: number, report: Report): Promise<void> {
  const row = { subject: "kernels", id: "field_multiplication", unit: "ns" } as const;
  const perOperation = ({ median, p95, samples: count }: Awaited<ReturnType<typeof sampleMs>>) => ({
    median: (median * 1e6) / MULTIPLICATIONS,
    p95: (p95 * 1e6) / MULTIPLICATIONS,
    samples: count,
  });
  for (const preferred of ["fma", "integer"] as const) {
    const { kernels, arena, peerName } = newKernels(preferred, 1 << 22);
    const { elementBytes, lanes } = kernels.fr;
    const [a, b] = [0, 0].map(() => arena.take(1024 * elementBytes)) as [number, number];
    kernels.call("fr_import_raw", a, fillScalars(kernels, arena, 1024), 1024);
    kernels.call("fr_import_raw", b, fillScalars(kernels, arena, 1024), 1024);
    const run = (): void => {
      for (let i = 0; i < MULTIPLICATIONS / 1024; i += 1) kernels.call("fr_mul_blocks", a, a, b, 1024 / lanes);
    };
    report({ ...row, peer: peerName, ...perOperation(await sampleMs(run, { samples: samples * 5, warmups: 20 })) });
  }
  const [x, y] = [peer.Fr.random(), peer.Fr.random()];
  report({
    ...row,
    peer: "ffjavascript",
    ...perOperation(
      await sampleMs(
        () => {
          for (let i = 0; i < MULTIPLICATIONS; i += 1) peer.Fr.mul(x, y);
        },
        { samples: samples * 5, warmups: 20 },
      ),
    ),
    note: "with the call from JavaScript",
  });
}

async function sums(peer: PeerCurve, group: Group, log: number, samples: number, report: Report): Promise<void> {
  const count = 2 ** log,
    rawBytes = group === "g1" ? 64 : 128;
  const row = { subject: "kernels", id: `msm_${group}_2^${String(log)}`, unit: "ms" } as const;
  const raw = new Uint8Array(count * rawBytes),
    scalars = randomScalars(count);
  const results: string[] = [];
  for (const preferred of ["fma", "integer"] as const) {
    const sizing = loadKernels({ preferred, pages: 1 });
    const { kernels, arena, peerName } = newKernels(
      preferred,
      msmWorkspaceBytes(sizing, group, count) + count * (sizing[group].pointBytes + rawBytes + 64) + (192 << 20),
    );
    const points = arena.take(count * kernels[group].pointBytes),
      scalarsAddress = arena.take(scalars.length),
      target = arena.take(kernels[group].pointBytes);
    if (preferred === "fma")
      arena.scoped(() => {
        const generator = arena.take(kernels[group].pointBytes);
        kernels.writePoint(generator, generatorCoordinates(kernels.curve, group), arena.take(256));
        new FixedBase(kernels, group, arena, { point: generator, expectedCount: count }).multiply(
          randomScalars(count),
          raw,
        );
      });
    arena.scoped(() => {
      const address = arena.take(raw.length);
      kernels.bytes(address, raw.length).set(raw);
      kernels.call("fq_import_foreign", points, address, raw.length / 32);
    });
    kernels.bytes(scalarsAddress, scalars.length).set(scalars);
    const msm = new Msm(kernels, group, arena);
    report({
      ...row,
      peer: peerName,
      ...(await sampleMs(
        () => {
          msm.run({ points, scalars: scalarsAddress, indices: 0, count }, target);
        },
        { samples, warmups: 3 },
      )),
    });
    const out = arena.take(rawBytes);
    kernels.call("fq_export_foreign", out, target, rawBytes / 32);
    results.push(Buffer.from(kernels.bytes(out, rawBytes)).toString("hex"));
  }
  const operations = group === "g1" ? peer.G1 : peer.G2;
  let sum = new Uint8Array();
  report({
    ...row,
    peer: "ffjavascript",
    ...(await sampleMs(
      async () => {
        sum = Uint8Array.from(await operations.multiExpAffine(raw, scalars));
      },
      { samples: Math.min(3, samples), warmups: 1 },
    )),
  });
  results.push(Buffer.from(operations.toAffine(sum)).toString("hex"));
  if (new Set(results).size !== 1) throw new Error(`${row.id}: the sums differ`);
}

async function transforms(peer: PeerCurve, log: number, samples: number, report: Report): Promise<void> {
  const count = 2 ** log;
  const row = { subject: "kernels", id: `ntt_2^${String(log)}`, unit: "ms" } as const;
  for (const preferred of ["fma", "integer"] as const) {
    const { kernels, arena, peerName } = newKernels(preferred, 4 * count * 48 + (1 << 20));
    const [tables, data] = [0, 0].map(() => arena.take(vectorBytes(kernels, log))) as [number, number];
    writeDomainTables(kernels, log, { target: tables, scratch: arena.take(512) });
    kernels.call("fr_import_raw", data, fillScalars(kernels, arena, count), count);
    const domain = new Domain(kernels, log, tables);
    report({
      ...row,
      peer: peerName,
      ...(await sampleMs(
        () => {
          domain.forward(data);
        },
        { samples, warmups: 3 },
      )),
    });
  }
  const values = randomScalars(count);
  report({
    ...row,
    peer: "ffjavascript",
    ...(await sampleMs(() => peer.Fr.fft(values), { samples: Math.min(3, samples), warmups: 1 })),
  });
}

async function proofs(name: string, samples: number, report: Report): Promise<void> {
  const circuit = await loadCircuit(name);
  const { zkey } = await loadKey(circuit);
  const key = readProvingKey(zkey);
  const prepared = prepareWith(await loadPairing("wasm"), verifyingKeyOf(key));
  for (const [peer, make] of [
    ["proofwright", circuit.makeWitness],
    ["circom's program", circuit.makePlainWitness],
  ] as const)
    report({
      ...{ subject: "kernels", id: "witness", circuit: name, unit: "ms", peer },
      ...(await sampleMs(make, { samples, warmups: 4 })),
    });
  const row = { subject: "kernels", id: "prove", circuit: name, unit: "ms" } as const;
  for (const preferred of ["fma", "integer"] as const) {
    const resident = makeKeyResident(key, { workspaces: 1, preferred });
    const prover = new ResidentProver(resident);
    const blinding = () => ({ r: randomNonZero(CURVE.r), s: randomNonZero(CURVE.r) });
    const proof = proveResident(prover, circuit.witness, blinding());
    if (!verifyGroth16(prepared, proof, publicSignalsOf(key, circuit.witness)))
      throw new Error(`${name}: the proof does not verify`);
    const peer = nameOf(resident.kind);
    report({
      ...row,
      peer,
      ...(await sampleMs(() => proveResident(prover, circuit.witness, blinding()), {
        samples: 2 * samples,
        warmups: 4,
      })),
      note: `${String(circuit.r1cs.constraintCount)} constraints`,
    });
    report({
      subject: "kernels",
      id: "resident_key",
      circuit: name,
      unit: "MB",
      peer,
      median: resident.keyBytes / 2 ** 20,
      samples: 1,
      note: `zkey ${(zkey.length / 2 ** 20).toFixed(1)} MB`,
    });
    const steps = Array.from({ length: samples }, () => prover.prove(circuit.witness, blinding()).timings);
    for (const step of ["quotientMs", "aMs", "b1Ms", "b2Ms", "cMs", "hMs"] as const) {
      report({
        subject: "kernels",
        id: `prove_step_${step.slice(0, -2)}`,
        circuit: name,
        unit: "ms",
        peer,
        ...summarize(steps.map((each) => each[step])),
      });
    }
  }
  const snarkjs = await primeSnarkjs();
  const plainKey = Uint8Array.from(zkey),
    witnessFile = wtnsFile(circuit.witness);
  report({
    ...row,
    peer: "snarkjs",
    ...(await sampleMs(() => snarkjs.groth16.prove(plainKey, witnessFile), { samples, warmups: 1 })),
    note: "curve kept, one thread",
  });
}

/** Little-endian scalars below 2^253. */
function randomScalars(count: number): Uint8Array {
  const bytes = Uint8Array.from(randomBytes(32 * count));
  for (let i = 31; i < bytes.length; i += 32) bytes[i] = bytes[i]! & 0x1f;
  return bytes;
}

function fillScalars(kernels: Kernels, arena: Arena, count: number): number {
  const address = arena.take(32 * count);
  kernels.bytes(address, 32 * count).set(randomScalars(count));
  return address;
}

/**
 * A scheme whose keys follow from a universal setup, PLONK or FFLONK, against snarkjs: the key from a circuit and ready
 * powers of tau, the proof on one thread and on two, and verification, one by one and in batches.
 */
import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { primeSnarkjs } from "../src/engine/backends/snarkjs.js";
import { BN254 } from "../src/engine/curves/bn254.js";
import { readBigIntLE, writeBigIntLE } from "../src/engine/field/bytes.js";
import type { G2Point } from "../src/engine/curves/points.js";
import { createTeam } from "../src/engine/kernels/threads/thread-team.js";
import type { MakeKeyOptions, MakeKeyResult } from "../src/engine/proof-systems/proof-system.js";
import type { StructuredReferenceString } from "../src/engine/proof-systems/reference-string.js";
import { benchFolder, loadCircuit } from "./circuits.js";
import type { BenchCircuit } from "./circuits.js";
import { runPeer } from "./peers/run-peer.js";
import { sampleMs, summarize } from "./sample.js";
import type { BenchRow, BenchSubject, Report } from "./subject.js";

/** Points of a setup; PLONK takes those of the Lagrange basis as well. */
interface SetupPoints {
  readonly powers: Uint8Array;
  readonly lagrange?: Uint8Array;
  readonly tauG2: G2Point;
}

/** What is measured of a scheme. */
export interface UniversalScheme<Points extends SetupPoints, Key, Proof> {
  readonly name: "plonk" | "fflonk";
  /** Power of the domain that a circuit takes. */
  readonly domainPowerOf: (circuit: BenchCircuit) => number;
  readonly makePoints: (domainPower: number) => Promise<Points>;
  readonly powersOfTau: (domainPower: number) => string;
  /** Makes the stored key of a circuit from a string whose points are ready. */
  readonly makeKey: (r1cs: Uint8Array, options: MakeKeyOptions) => MakeKeyResult | Promise<MakeKeyResult>;
  /** Opens the key of a circuit in this process. */
  readonly build: (circuit: BenchCircuit, points: Points) => Key;
  /** Returns what proves with a key on this thread, with fresh blinding. */
  readonly openProver: (key: Key) => (witness: Uint8Array, team?: SharedArrayBuffer) => Proof;
  readonly openVerifier: (key: Key) => Promise<UniversalVerifier<Proof>>;
}

/** What checks proofs of one key, and the key and a proof as snarkjs takes them. */
export interface UniversalVerifier<Proof> {
  readonly publicCount: number;
  readonly json: unknown;
  readonly proofToJson: (proof: Proof) => unknown;
  readonly encode: (proof: Proof) => string;
  readonly decode: (hex: string) => Proof;
  readonly verify: (proof: Proof, publicSignals: readonly bigint[]) => boolean;
  readonly verifyBatch: (claims: readonly { proof: Proof; publicSignals: readonly bigint[] }[]) => readonly boolean[];
}

/** Returns the subject of a scheme. */
export function universalSubject<Points extends SetupPoints, Key, Proof>(
  scheme: UniversalScheme<Points, Key, Proof>,
): BenchSubject {
  return {
    name: scheme.name,
    title: `${scheme.name.toUpperCase()}: setup, prove, verify`,
    run: async (report, { quick }) => {
      for (const name of quick ? ["eddsa_signature"] : ["eddsa_signature", "merkle_membership"])
        await measureCircuit(scheme, await loadCircuit(name), quick ? 3 : 7, report);
    },
  };
}

const BATCH_PROOFS = 64;
/** Proofs of the peer, each of which takes up to half a minute. */
const PEER_PROOFS = 3;

interface Run {
  readonly samples: number;
  readonly row: Pick<BenchRow, "subject" | "circuit" | "unit">;
  readonly domainPower: number;
}

async function measureCircuit<Points extends SetupPoints, Key, Proof>(
  scheme: UniversalScheme<Points, Key, Proof>,
  circuit: BenchCircuit,
  samples: number,
  report: Report,
): Promise<void> {
  const row = { subject: scheme.name, circuit: circuit.name, unit: "ms" } as const;
  const run = { samples, row, domainPower: scheme.domainPowerOf(circuit) };
  const key = await setup(scheme, circuit, run, report);
  const verifier = await scheme.openVerifier(key);
  const publicSignals = Array.from({ length: verifier.publicCount }, (_, i) =>
    readBigIntLE(circuit.witness, 32 * (i + 1)),
  );
  const proof = await prove({ scheme, key }, circuit, run, report);
  await verify({ scheme, verifier }, { proof, publicSignals }, run, report);
}

/** From the bytes of a constraint system to the files that are kept, ours and theirs. */
async function setup<Points extends SetupPoints, Key, Proof>(
  scheme: UniversalScheme<Points, Key, Proof>,
  circuit: BenchCircuit,
  { samples, row, domainPower }: Run,
  report: Report,
): Promise<Key> {
  const points = await scheme.makePoints(domainPower);
  const string = readyString(points);
  const keyPath = join(benchFolder(), `${scheme.name}-${String(process.pid)}.key`);
  const ours = await sampleMs(
    async () => {
      const made = await scheme.makeKey(circuit.r1csBytes, { referenceString: () => string });
      if (!made.ok) throw new Error(`no key of ${circuit.name}: ${made.code}`);
      writeFileSync(keyPath, made.provingKey);
    },
    { samples, warmups: 1 },
  ).finally(() => {
    rmSync(keyPath, { force: true });
  });
  const note = `${String(circuit.r1cs.constraintCount)} constraints, domain 2^${String(domainPower)}`;
  report({ ...row, id: "setup", peer: "proofwright", ...ours, note: `${note}, 1 thread` });
  const parameters = [scheme.name, circuit.r1csPath, scheme.powersOfTau(domainPower), zkeyPath(scheme.name)];
  const theirs = summarize(await runPeer("plain-snarkjs", ["universal-setup", ...parameters]));
  report({ ...row, id: "setup", peer: "snarkjs", ...theirs, note: "all cores" });
  return scheme.build(circuit, points);
}

/** A string in memory; snarkjs reads its own from a file that the system holds in its cache. */
function readyString({ powers, lagrange, tauG2 }: SetupPoints): StructuredReferenceString {
  const pointBytes = 2 * BN254.fqBytes;
  return {
    curve: BN254,
    sha256: createHash("sha256").update(powers).digest("hex"),
    power: Math.floor(Math.log2(powers.length / pointBytes)),
    powersG1: (count) => powers.subarray(0, count * pointBytes),
    lagrangeG1: () => Promise.resolve(lagrange ?? new Uint8Array()),
    openPowers: () => {
      throw new Error("these points are of no ceremony");
    },
    tauG2,
  };
}

async function prove<Points extends SetupPoints, Key, Proof>(
  { scheme, key }: { readonly scheme: UniversalScheme<Points, Key, Proof>; readonly key: Key },
  circuit: BenchCircuit,
  { samples, row }: Run,
  report: Report,
): Promise<Proof> {
  const make = scheme.openProver(key);
  const helper = new Worker(new URL("./peers/universal-helper.js", import.meta.url), {
    workerData: { scheme: scheme.name, key },
  });
  const heard = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      helper.once("message", resolve);
      helper.once("error", reject);
    });
  await heard();
  const times: { one: number[]; two: number[] } = { one: [], two: [] };
  let proof = make(circuit.witness);
  for (let i = -1; i < samples; i += 1) {
    const [team, helped] = [createTeam(), heard()];
    helper.postMessage(team);
    const startedAt = performance.now();
    proof = make(circuit.witness, team);
    const twoAt = performance.now();
    await helped;
    const resumedAt = performance.now();
    make(circuit.witness);
    if (i < 0) continue;
    times.two.push(twoAt - startedAt);
    times.one.push(performance.now() - resumedAt);
  }
  await helper.terminate();
  report({ ...row, id: "prove", peer: "proofwright", ...summarize(times.two), note: "2 threads" });
  report({ ...row, id: "prove", peer: "proofwright, 1 thread", ...summarize(times.one) });
  const witnessPath = join(benchFolder(), `${scheme.name}-${String(process.pid)}.wtns`);
  try {
    writeFileSync(witnessPath, witnessFile(circuit.witness));
    const parameters = [scheme.name, zkeyPath(scheme.name), witnessPath, String(Math.min(PEER_PROOFS, samples))];
    const theirs = summarize(await runPeer("plain-snarkjs", ["universal-prove", ...parameters]));
    report({ ...row, id: "prove", peer: "snarkjs", ...theirs, note: "all cores" });
  } finally {
    rmSync(witnessPath, { force: true });
    rmSync(zkeyPath(scheme.name), { force: true });
  }
  return proof;
}

async function verify<Points extends SetupPoints, Key, Proof>(
  { scheme, verifier }: { scheme: UniversalScheme<Points, Key, Proof>; verifier: UniversalVerifier<Proof> },
  { proof, publicSignals }: { readonly proof: Proof; readonly publicSignals: readonly bigint[] },
  { samples, row }: Run,
  report: Report,
): Promise<void> {
  const hex = verifier.encode(proof);
  const one = await sampleMs(
    () => {
      if (!verifier.verify(verifier.decode(hex), publicSignals)) throw new Error("the proof does not verify");
    },
    { samples: 10 * samples, warmups: 10 },
  );
  report({ ...row, id: "verify-from-hex", peer: "proofwright", ...one });
  const batch = await sampleMs(
    () => {
      const claims = Array.from({ length: BATCH_PROOFS }, () => ({ proof: verifier.decode(hex), publicSignals }));
      if (verifier.verifyBatch(claims).includes(false)) throw new Error("the batch does not verify");
    },
    { samples, warmups: 1 },
  );
  const perProof = { median: batch.median / BATCH_PROOFS, p95: batch.p95 / BATCH_PROOFS, samples: batch.samples };
  report({ ...row, id: "verify-batch", peer: "proofwright", ...perProof, note: `of ${String(BATCH_PROOFS)}, each` });
  const snarkjs = (await primeSnarkjs()) as unknown as Readonly<
    Record<string, { verify(key: unknown, signals: readonly string[], proof: unknown): Promise<boolean> }>
  >;
  const json = [verifier.json, publicSignals.map(String), verifier.proofToJson(proof)] as const;
  const kept = await sampleMs(
    async () => {
      // snarkjs changes the key that it is given.
      if ((await snarkjs[scheme.name]?.verify(structuredClone(json[0]), json[1], json[2])) !== true)
        throw new Error("snarkjs refuses the proof");
    },
    { samples: 5 * samples, warmups: 5 },
  );
  for (const id of ["verify-from-hex", "verify-batch"])
    report({ ...row, id, peer: "snarkjs (curve kept)", ...kept, note: "one by one, from JSON" });
}

function zkeyPath(scheme: string): string {
  return join(benchFolder(), `${scheme}-${String(process.pid)}.zkey`);
}

/** "wtns" || version 2 || sections 2 || header: field bytes, r, count || values. */
function witnessFile(witness: Uint8Array): Uint8Array {
  const u32 = (...values: readonly number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer);
  const order = new Uint8Array(32);
  writeBigIntLE(BN254.r, order);
  const header = Buffer.concat([u32(32), order, u32(witness.length / 32)]);
  const sections = [u32(1, header.length, 0), header, u32(2, witness.length, 0), witness];
  return Buffer.concat([Buffer.from("wtns"), u32(2, 2), ...sections]);
}

/** What the process of a ceremony does (workers/ceremony.process.ts): one step, from files to a key or a verdict. */
import { randomUUID } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { R1csFormatError, readR1cs } from "../../engine/circuit/r1cs.js";
import { BN254 } from "../../engine/curves/bn254.js";
import { verifyingKeyToJson } from "../../engine/encoding/groth16-verifying-key.js";
import { CeremonyError } from "../../engine/groth16/ceremony/ceremony-fault.js";
import { readCeremonyKey } from "../../engine/groth16/ceremony/ceremony-key.js";
import { checkContribution } from "../../engine/groth16/ceremony/check-contribution.js";
import type { CompareExecutor } from "../../engine/groth16/ceremony/compare-jobs.js";
import { applyBeacon } from "../../engine/groth16/ceremony/contribute-to-key.js";
import { contributionRecords, hexOf } from "../../engine/groth16/ceremony/contribution-record.js";
import type { ScaleExecutor } from "../../engine/groth16/ceremony/scale-jobs.js";
import { loadPairing } from "../../engine/groth16/pairing-backend.js";
import { makePhase1Key } from "../../engine/groth16/phases/phase1.js";
import { writeKey } from "../../engine/groth16/phases/setup-from-powers.js";
import { readProvingKey, verifyingKeyOf } from "../../engine/groth16/proving-key.js";
import { SetupInputError, requireSetupInput } from "../../engine/groth16/setup.js";
import { zkeyCountsOf } from "../../engine/groth16/zkey-writer.js";
import { openPowersOfTau } from "../../engine/powers-of-tau/lagrange-points.js";
import type { PointRowExecutor } from "../../engine/powers-of-tau/point-row-work.js";
import { PowersOfTauError } from "../../engine/powers-of-tau/powers-of-tau-error.js";
import { openRangeFile, openWrittenFile, rangeOfBytes } from "../../engine/powers-of-tau/range-file.js";
import { loadReferenceKernels } from "../../engine/reference/reference-kernels.js";
import type { CeremonyTaskAnswers, CeremonyTaskRequest } from "./ceremony-task.js";

interface RunOptions {
  readonly onProgress?: (share: number) => void;
  /** How sums of a powers-of-tau file's points are computed; inline by default. */
  readonly executeRows?: PointRowExecutor;
  /** How the points of two keys are compared, by their paths; inline by default. */
  readonly executeCompare?: (paths: { readonly before: string; readonly after: string }) => CompareExecutor;
}

interface BeaconOptions {
  /** Where the key is written before it is answered; nothing stays there. */
  readonly folder: string;
  readonly onProgress?: (share: number) => void;
  /** How points are multiplied from one file to another, by their paths; inline by default. */
  readonly executeScale?: (paths: { readonly from: string; readonly to: string }) => ScaleExecutor;
}

type RequestOf<Step extends keyof CeremonyTaskAnswers> = Extract<CeremonyTaskRequest, { readonly step: Step }>;

/** Runs one step. Whatever the files of others are is a result. */
export async function runCeremony(
  request: CeremonyTaskRequest,
  options: RunOptions & BeaconOptions,
): Promise<CeremonyTaskAnswers[keyof CeremonyTaskAnswers]> {
  switch (request.step) {
    case "first_key":
      return await makeFirstKey(request, options);
    case "check":
      return await check(request, options);
    case "beacon":
      return await endWithBeacon(request, options);
  }
}

/** Makes the key before any contribution; see `CeremonyCompute`. */
export async function makeFirstKey(
  { r1cs: r1csBytes, strings }: Omit<RequestOf<"first_key">, "step">,
  { onProgress, executeRows }: RunOptions = {},
): Promise<CeremonyTaskAnswers["first_key"]> {
  try {
    const r1cs = readR1cs(r1csBytes);
    requireSetupInput(r1cs, BN254);
    const { domainPower } = zkeyCountsOf(r1cs);
    const string = strings.find(({ power }) => power >= domainPower);
    if (string === undefined) return { ok: false, referencePower: domainPower };
    const file = openRangeFile(string.path);
    try {
      const kernels = await loadReferenceKernels(BN254);
      const { generatorG1, generatorG2 } = kernels.curve;
      const points = await makePhase1Key(kernels, r1cs, openPowersOfTau(file), {
        ...(executeRows === undefined ? {} : { executeRows }),
        ...(onProgress === undefined ? {} : { onProgress }),
      });
      const transcript = { circuitHash: points.circuitHash, contributions: [] };
      const key = await writeKey(kernels, r1cs, points, {
        transcript,
        delta: { g1: generatorG1, g2: generatorG2 },
      });
      return { ok: true, value: { key, circuitHash: hexOf(points.circuitHash), referenceString: string.sha256 } };
    } finally {
      file.close();
    }
  } catch (error) {
    if (error instanceof R1csFormatError || error instanceof SetupInputError)
      return { ok: false, code: "circuit_unsupported", message: error.message };
    throw error;
  }
}

/** Checks one contribution; see `CeremonyCompute`. */
export async function check(
  { before, after }: Omit<RequestOf<"check">, "step">,
  { onProgress, executeCompare }: RunOptions = {},
): Promise<CeremonyTaskAnswers["check"]> {
  const old = openRangeFile(before.path);
  const own = openRangeFile(after.path);
  try {
    const execute = executeCompare?.({ before: before.path, after: after.path });
    const { added } = await checkContribution({ before: old, after: own }, await loadPairing("wasm"), {
      ...(onProgress === undefined ? {} : { onProgress }),
      ...(execute === undefined ? {} : { execute }),
    });
    const [contribution] = added;
    if (contribution === undefined) throw new Error("a key passed that has no new contribution");
    if (contribution.kind === "beacon")
      return { ok: false, code: "beacon_invalid", message: "a beacon ends the ceremony, and is its owner's" };
    return { ok: true, value: { hash: contribution.hash, name: contribution.name } };
  } catch (error) {
    return refused(error);
  } finally {
    old.close();
    own.close();
  }
}

/** Applies the beacon, from file to file as a contribution; see `CeremonyCompute`. */
export async function endWithBeacon(
  { before, name, value, iterationsExp }: Omit<RequestOf<"beacon">, "step">,
  { folder, onProgress, executeScale }: BeaconOptions,
): Promise<CeremonyTaskAnswers["beacon"]> {
  const source = openRangeFile(before.path);
  const path = join(folder, `beacon-${randomUUID()}.zkey`);
  const target = openWrittenFile(path, { isNew: true });
  try {
    await applyBeacon(
      { source, target },
      { name, value: Buffer.from(value, "hex"), iterationsLog: iterationsExp },
      {
        ...(onProgress === undefined ? {} : { onProgress }),
        ...(executeScale === undefined ? {} : { execute: executeScale({ from: before.path, to: path }) }),
      },
    );
    const key = readFileSync(path);
    const kernels = await loadReferenceKernels(BN254);
    const verifyingKey = JSON.stringify(verifyingKeyToJson(verifyingKeyOf(readProvingKey(key)), kernels));
    const { transcript, curve } = readCeremonyKey(rangeOfBytes(key));
    return { ok: true, value: { key, verifyingKey, contributions: contributionRecords(transcript, curve) } };
  } catch (error) {
    return refused(error);
  } finally {
    source.close();
    target.close();
    rmSync(path, { force: true });
  }
}

function refused(error: unknown): { readonly ok: false; readonly code: string; readonly message: string } {
  if (error instanceof CeremonyError) return { ok: false, code: error.fault, message: error.message };
  if (error instanceof PowersOfTauError) return { ok: false, code: "not_a_key", message: "the file ends too early" };
  throw error;
}

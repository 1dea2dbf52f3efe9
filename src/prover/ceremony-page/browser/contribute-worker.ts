/**
 * The worker of the page that makes the contribution: the secret is in its memory, and in that of the workers it
 * starts, and the page ends them all when the key is there.
 */
import { CeremonyError } from "../../../engine/groth16/ceremony/ceremony-fault.js";
import { readCeremonyKey } from "../../../engine/groth16/ceremony/ceremony-key.js";
import { contributeToKey, isRewritable } from "../../../engine/groth16/ceremony/contribute-to-key.js";
import type { ContributionRecord } from "../../../engine/groth16/ceremony/contribution-record.js";
import type { ScaleExecutor } from "../../../engine/groth16/ceremony/scale-jobs.js";
import { browser } from "./browser-scope.js";
import { createHash } from "./node-crypto.js";
import type { PointsRequest } from "./points-worker.js";
import { ROOM_BYTES, SharedTarget, rangeOfShared } from "./shared-key.js";

/** What the worker is started with. */
export interface ContributeRequest {
  /** The key at its front, and `ROOM_BYTES` more behind it. */
  readonly memory: SharedArrayBuffer;
  readonly bytes: number;
  /** Of the key, in hex. */
  readonly sha256: string;
  readonly name: string;
  readonly entropy: string;
}

export type ContributeReport =
  | { readonly kind: "progress"; readonly share: number }
  | {
      readonly kind: "made";
      readonly record: ContributionRecord;
      readonly after: SharedArrayBuffer;
      readonly bytes: number;
    }
  | { readonly kind: "failed"; readonly message: string };

/** Each takes some 10 MB. */
const WORKERS_MAX = 8;
const HASH_BYTES = 1 << 20;

browser.onmessage = ({ data }) => {
  contribute(data as ContributeRequest).then(report, (error: unknown) => {
    const message = error instanceof CeremonyError ? error.message : `the contribution failed: ${String(error)}`;
    report({ kind: "failed", message });
  });
};

async function contribute({ memory, bytes, sha256, name, entropy }: ContributeRequest): Promise<ContributeReport> {
  if (hashOf(memory, bytes) !== sha256)
    return { kind: "failed", message: "the key came otherwise than the server named it" };
  const source = rangeOfShared(memory, bytes);
  // A key may have hundreds of megabytes: the new one takes the place of the old one, where both have the same layout.
  const after = isRewritable(readCeremonyKey(source)) ? memory : new SharedArrayBuffer(bytes + ROOM_BYTES);
  const target = new SharedTarget(after);
  const record = await contributeToKey(
    { source, target },
    { name, ...(entropy === "" ? {} : { entropy: new TextEncoder().encode(entropy) }) },
    {
      execute: onWorkers({ before: memory, bytes, after }),
      onProgress: (share) => {
        report({ kind: "progress", share });
      },
    },
  );
  // The transcript is the last section.
  return { kind: "made", record, after, bytes: target.end };
}

function onWorkers(files: Omit<PointsRequest, "work">): ScaleExecutor {
  return async (work, onJob) => {
    const count = Math.min(browser.navigator.hardwareConcurrency ?? 1, WORKERS_MAX, work.jobs.length);
    await Promise.all(
      Array.from(
        { length: count },
        async () =>
          await new Promise<void>((resolve, reject) => {
            const worker = new browser.Worker(new URL("points.js", browser.location.href), { type: "module" });
            worker.onmessage = ({ data }) => {
              if (data === "job") onJob();
              else {
                worker.terminate();
                resolve();
              }
            };
            worker.onerror = ({ message }) => {
              reject(new Error(message ?? "a worker did not start"));
            };
            worker.postMessage({ work, ...files } satisfies PointsRequest);
          }),
      ),
    );
  };
}

function hashOf(memory: SharedArrayBuffer, bytes: number): string {
  const hash = createHash("sha256");
  for (let at = 0; at < bytes; at += HASH_BYTES)
    hash.update(new Uint8Array(memory, at, Math.min(HASH_BYTES, bytes - at)));
  return [...hash.digest()].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function report(message: ContributeReport): void {
  browser.postMessage(message);
}

/** How far a job is, by the time that proofs took so far: the threads report no steps. */
import type { Job } from "./proof-job-schemas.js";

interface Known {
  readonly status: Job["status"];
  /** How long a proof of the prover takes; undefined before the first. */
  readonly ownMs: number | undefined;
  /** Present while it waits in this process's line. */
  readonly place: { readonly ahead: number; readonly waitMs: number } | undefined;
  /** When it was leased, ISO 8601. */
  readonly startedAt: string | undefined;
}

/** The rest of a proof that takes longer than others did. */
const SHARE_MAX = 0.95;

/** Returns the members of a job that change with time alone. */
export function progressOf(
  { status, ownMs, place, startedAt }: Known,
  nowMs: number,
): Pick<Job, "position" | "progress" | "estimated_ms"> {
  if (status === "queued") {
    const waitMs = place?.waitMs ?? 0;
    const estimated_ms = ownMs === undefined ? null : Math.ceil(waitMs + ownMs);
    return { position: place?.ahead ?? null, progress: 0, estimated_ms };
  }
  if (status !== "running" || startedAt === undefined)
    return { position: null, progress: status === "succeeded" ? 1 : 0, estimated_ms: null };
  if (ownMs === undefined) return { position: null, progress: 0, estimated_ms: null };
  const ranMs = Math.max(0, nowMs - Date.parse(startedAt));
  const progress = Math.min(SHARE_MAX, ranMs / ownMs);
  return { position: null, progress, estimated_ms: Math.max(0, Math.ceil(ownMs - ranMs)) };
}

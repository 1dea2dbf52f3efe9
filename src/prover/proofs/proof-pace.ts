/**
 * How long proofs of each prover take on this server: a moving average of what its threads needed, by the number of
 * threads, for estimates. Stored now and then, so that a restart begins with it; what is lost with a process is the
 * average of its last minute.
 */
import { LRUCache } from "lru-cache";
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import type { Clock } from "../../platform/clock.js";
import type { Log } from "../../platform/log.js";
import type { Store, StoreCommit, StoreKey } from "../../platform/store/store.js";

interface ProofPaceOptions {
  /** Threads of this server that prove; a proof may use several. */
  readonly threads: number;
}

interface ProofPaceDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** What names a prover among all of the server. */
interface ProverName {
  readonly id: string;
  readonly build: { readonly owner: Subject };
}

interface Pace {
  ms: number;
  /** As stored last; undefined where it never was. */
  storedMs: number | undefined;
  storedAtMs: number;
}

const TABLE = "proof_pace";
/** Weight of the newest proof: about the last ten count. */
const EWMA_SHARE = 0.2;
/** Provers whose average is at hand; another one's is read again. */
const KEPT_MAX = 10_000;
/** A proof takes milliseconds at least, so that one write a minute for each prover is nothing beside them. */
const STORE_EVERY_MS = 60_000;
/** What is stored may be wrong by this share. */
const TOLERANCE = 0.1;

export class ProofPace {
  readonly #threads: number;
  readonly #with: ProofPaceDependencies;
  readonly #paces = new LRUCache<string, Pace>({ max: KEPT_MAX });

  constructor({ threads }: ProofPaceOptions, dependencies: ProofPaceDependencies) {
    this.#threads = threads;
    this.#with = dependencies;
  }

  /** Counts a proof. Never throws. */
  measure(prover: ProverName, ms: number): void {
    const pace = this.#paceOf(prover) ?? { ms, storedMs: undefined, storedAtMs: 0 };
    pace.ms += EWMA_SHARE * (ms - pace.ms);
    this.#paces.set(prover.id, pace);
    const nowMs = this.#with.clock.nowMs();
    const { storedMs } = pace;
    if (storedMs !== undefined && Math.abs(pace.ms - storedMs) <= TOLERANCE * storedMs) return;
    if (storedMs !== undefined && nowMs - pace.storedAtMs < STORE_EVERY_MS) return;
    Object.assign(pace, { storedMs: pace.ms, storedAtMs: nowMs });
    this.#store(prover, pace.ms);
  }

  /** Returns how long a proof of the prover takes once it has its threads; undefined before the first one. */
  estimateMs(prover: ProverName): number | undefined {
    const pace = this.#paceOf(prover);
    return pace === undefined ? undefined : Math.max(1, Math.round(pace.ms));
  }

  #paceOf(prover: ProverName): Pace | undefined {
    const known = this.#paces.get(prover.id);
    if (known !== undefined) return known;
    const stored = this.#with.store.get<number>([...paceKey(prover), this.#threads]);
    if (stored === undefined) return undefined;
    const pace = { ms: stored.value, storedMs: stored.value, storedAtMs: this.#with.clock.nowMs() };
    this.#paces.set(prover.id, pace);
    return pace;
  }

  #store(prover: ProverName, ms: number): void {
    const commit: StoreCommit = { puts: [{ key: [...paceKey(prover), this.#threads], value: ms }] };
    this.#with.store.commit(commit).catch((error: unknown) => {
      this.#with.log.debug("pace of a prover not stored", () => ({ prover_id: prover.id, error }));
    });
  }
}

/** Prepares the deletion of what is stored of a prover's pace. */
export function paceDeletion(prover: ProverName): StoreCommit {
  return { deletePrefixes: [paceKey(prover)] };
}

function paceKey({ id, build }: ProverName): StoreKey {
  return [TABLE, ...ownerKey(build.owner), id];
}

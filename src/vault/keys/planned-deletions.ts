/**
 * Deletion with time to think it over, of vaults and secrets (keys: key-lifecycle.ts), and the sweep that ends all
 * recovery windows. In its window a vault hides what it holds, and a secret is not read; nothing is unwrapped or
 * wrapped here.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import { StoreConflict, type StoreCommit } from "../../platform/store/store.js";
import { secretJson, vaultJson } from "../record-views.js";
import {
  unchanged,
  type FoundSecret,
  type FoundVault,
  type SecretRecord,
  type VaultRecord,
  type VaultRepository,
} from "../repository.js";
import type { SecretJson, VaultJson } from "../schemas.js";
import type { VaultSeal } from "../seal/seal.js";

export interface PlannedDeletionsDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly clock: Clock;
  readonly log: Log;
}

const DAY_MS = 24 * 3600 * 1000;
/** Vaults, secrets and keys that one sweep deletes, of each; the next sweep takes the rest. */
const DELETIONS_PER_SWEEP = 100;

/** The end of a recovery window that begins now, ISO 8601. */
export function windowEnd(clock: Clock, recoveryDays: number): string {
  return isoTimestamp(clock.nowMs() + recoveryDays * DAY_MS);
}

/** Whether a recovery window is over: what it was for is gone, even while the sweep has not come by. */
export function isOver(deletesAt: string | undefined, clock: Clock): boolean {
  return deletesAt !== undefined && deletesAt <= isoTimestamp(clock.nowMs());
}

export class PlannedDeletions {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(dependencies: PlannedDeletionsDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
  }

  /**
   * Plans the deletion of a vault; until then it hides what it holds, and can be restored. Planning again moves the
   * day.
   */
  async scheduleVault(owner: Subject, vaultId: string, recoveryDays: number): Promise<VaultJson> {
    const vault = this.#findVault(owner, vaultId);
    const deletesAt = windowEnd(this.#clock, recoveryDays);
    const next: VaultRecord = { ...vault.record.value, deletes_at: deletesAt };
    await this.#commit(this.#repository.vaultUpdate(vault, next), this.#repository.vaultDeletionPlan(vault, deletesAt));
    await this.#forget(vaultId);
    return vaultJson(next);
  }

  /** Takes a planned deletion back. Throws `deletion_not_planned`, and `not_found` once its time has come. */
  async restoreVault(owner: Subject, vaultId: string): Promise<VaultJson> {
    const vault = this.#findVault(owner, vaultId);
    const { deletes_at: deletesAt, ...next } = vault.record.value;
    if (deletesAt === undefined) throw notPlanned("vault");
    await this.#commit(this.#repository.vaultUpdate(vault, next));
    return vaultJson(next);
  }

  /** Plans the deletion of a secret; until then it is not read, and can be restored. Planning again moves the day. */
  async scheduleSecret(owner: Subject, vaultId: string, secretId: string, recoveryDays: number): Promise<SecretJson> {
    const { vault, secret } = this.#findSecret(owner, vaultId, secretId);
    const deletesAt = windowEnd(this.#clock, recoveryDays);
    const next: SecretRecord = { ...secret.record.value, deletes_at: deletesAt };
    await this.#commit(
      unchanged(vault.record),
      this.#repository.secretUpdate(secret, next),
      this.#repository.secretDeletionPlan(secret, deletesAt),
    );
    return secretJson(next);
  }

  /** Takes a planned deletion back. Throws `deletion_not_planned`, and `not_found` once its time has come. */
  async restoreSecret(owner: Subject, vaultId: string, secretId: string): Promise<SecretJson> {
    const { vault, secret } = this.#findSecret(owner, vaultId, secretId);
    const { deletes_at: deletesAt, ...next } = secret.record.value;
    if (deletesAt === undefined) throw notPlanned("secret");
    await this.#commit(unchanged(vault.record), this.#repository.secretUpdate(secret, next));
    return secretJson(next);
  }

  /**
   * Deletes the vaults, secrets and keys whose window is over; answers how many plans were settled. Works while sealed.
   */
  async sweep(): Promise<number> {
    let settled = 0;
    for (const { commit, vaultId } of this.#repository.dueDeletions(
      isoTimestamp(this.#clock.nowMs()),
      DELETIONS_PER_SWEEP,
    )) {
      try {
        await this.#repository.commit(commit);
      } catch (error) {
        // Restored or deleted in this moment: the next sweep looks again.
        if (error instanceof StoreConflict) continue;
        throw error;
      }
      settled += 1;
      if (vaultId !== undefined) await this.#forget(vaultId);
    }
    if (settled > 0) this.#log.info("planned deletions settled", { count: settled });
    return settled;
  }

  #findVault(owner: Subject, vaultId: string): FoundVault {
    this.#seal.requireUnsealed();
    const vault = this.#repository.findVault(owner, vaultId, { evenPlanned: true });
    if (isOver(vault.record.value.deletes_at, this.#clock)) throw missing("vault");
    return vault;
  }

  /** In a vault that is not to be deleted itself. */
  #findSecret(owner: Subject, vaultId: string, secretId: string): { vault: FoundVault; secret: FoundSecret } {
    this.#seal.requireUnsealed();
    const vault = this.#repository.findVault(owner, vaultId);
    const secret = this.#repository.findSecret(vaultId, secretId);
    if (isOver(secret.record.value.deletes_at, this.#clock)) throw missing("secret");
    return { vault, secret };
  }

  /** Drops what is kept in memory of a vault. Sealing in the meantime has dropped it as well. */
  async #forget(vaultId: string): Promise<void> {
    await this.#seal.run("forget_vault", { vaultId }, vaultId).catch(() => null);
  }

  async #commit(...parts: readonly StoreCommit[]): Promise<void> {
    try {
      await this.#repository.commit(...parts);
    } catch (error) {
      if (error instanceof StoreConflict)
        throw new AppError("conflict", {
          message: "it was changed by somebody else at the same time; try again",
          cause: error,
        });
      throw error;
    }
  }
}

function missing(what: string): AppError {
  return new AppError("not_found", { message: `${what} not found` });
}

function notPlanned(what: string): AppError {
  return new AppError("deletion_not_planned", { message: `no deletion of this ${what} is planned` });
}

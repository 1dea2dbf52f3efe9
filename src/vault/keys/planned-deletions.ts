/**
 * Deletion with a recovery window, of vaults and secrets (keys: key-lifecycle.ts), and the sweep that deletes what is
 * due when the windows end. Within its window a vault hides its content and a secret is not read. Nothing is wrapped or
 * unwrapped here.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, notFound } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import { StoreConflict } from "../../platform/store/store.js";
import { secretJson, vaultJson } from "../record-views.js";
import { unchanged, type VaultRepository } from "../repository.js";
import type { FoundSecret, FoundVault, SecretRecord, VaultRecord } from "../vault-records.js";
import type { SecretJson, VaultJson } from "../schemas.js";
import type { VaultSeal } from "../seal/seal.js";

export interface PlannedDeletionsDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly clock: Clock;
  readonly log: Log;
}

const DAY_MS = 24 * 3600 * 1000;
/** How many vaults, secrets and keys each one sweep deletes; the next sweep takes the rest. */
const DELETIONS_PER_SWEEP = 100;

/** Returns the end of a recovery window that begins now, in ISO 8601. */
export function windowEnd(clock: Clock, recoveryDays: number): string {
  return isoTimestamp(clock.nowMs() + recoveryDays * DAY_MS);
}

/** Whether a recovery window is over. Its record is treated as deleted from then on, even before the sweep. */
export function isOver(deletesAt: string | undefined, clock: Clock): boolean {
  return deletesAt !== undefined && deletesAt <= isoTimestamp(clock.nowMs());
}

/** Plans deletions, withdraws them, and carries them out. */
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
   * Plans the deletion of a vault, which hides its content until then and can be restored. Planning again moves the
   * day. Throws `not_found`, `conflict`.
   */
  async scheduleVault(owner: Subject, vaultId: string, recoveryDays: number): Promise<VaultJson> {
    const vault = this.#findVault(owner, vaultId);
    const deletesAt = windowEnd(this.#clock, recoveryDays);
    const next: VaultRecord = { ...vault.record.value, deletes_at: deletesAt };
    await this.#repository.commitUnlessChanged(
      "vault",
      this.#repository.vaultUpdate(vault, next),
      this.#repository.vaultDeletionPlan(vault, deletesAt),
    );
    await this.#seal.forgetVault(vaultId);
    return vaultJson(next);
  }

  /** Withdraws a planned deletion. Throws `deletion_not_planned`, and `not_found` once its time has come. */
  async restoreVault(owner: Subject, vaultId: string): Promise<VaultJson> {
    const vault = this.#findVault(owner, vaultId);
    const { deletes_at: deletesAt, ...next } = vault.record.value;
    if (deletesAt === undefined) throw notPlanned("vault");
    await this.#repository.commitUnlessChanged("vault", this.#repository.vaultUpdate(vault, next));
    return vaultJson(next);
  }

  /**
   * Plans the deletion of a secret, which is not read until then and can be restored. Planning again moves the day.
   * Throws `not_found`, `conflict`.
   */
  async scheduleSecret(owner: Subject, vaultId: string, secretId: string, recoveryDays: number): Promise<SecretJson> {
    const { vault, secret } = this.#findSecret(owner, vaultId, secretId);
    const deletesAt = windowEnd(this.#clock, recoveryDays);
    const next: SecretRecord = { ...secret.record.value, deletes_at: deletesAt };
    await this.#repository.commitUnlessChanged(
      "secret",
      unchanged(vault.record),
      this.#repository.secretUpdate(secret, next),
      this.#repository.secretDeletionPlan(secret, deletesAt),
    );
    return secretJson(next);
  }

  /** Withdraws a planned deletion. Throws `deletion_not_planned`, and `not_found` once its time has come. */
  async restoreSecret(owner: Subject, vaultId: string, secretId: string): Promise<SecretJson> {
    const { vault, secret } = this.#findSecret(owner, vaultId, secretId);
    const { deletes_at: deletesAt, ...next } = secret.record.value;
    if (deletesAt === undefined) throw notPlanned("secret");
    await this.#repository.commitUnlessChanged(
      "secret",
      unchanged(vault.record),
      this.#repository.secretUpdate(secret, next),
    );
    return secretJson(next);
  }

  /**
   * Deletes the vaults, secrets and keys whose window is over, also while sealed. Returns how many plans were carried
   * out or removed.
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
        // Restored or deleted at the same time: the next sweep decides again.
        if (error instanceof StoreConflict) continue;
        throw error;
      }
      settled += 1;
      if (vaultId !== undefined) await this.#seal.forgetVault(vaultId);
    }
    if (settled > 0) this.#log.info("planned deletions settled", { count: settled });
    return settled;
  }

  #findVault(owner: Subject, vaultId: string): FoundVault {
    this.#seal.requireUnsealed();
    const vault = this.#repository.findAnyVault(owner, vaultId);
    if (isOver(vault.record.value.deletes_at, this.#clock)) throw notFound("vault");
    return vault;
  }

  /** Finds a secret in a vault whose own deletion is not planned. */
  #findSecret(owner: Subject, vaultId: string, secretId: string): { vault: FoundVault; secret: FoundSecret } {
    this.#seal.requireUnsealed();
    const vault = this.#repository.findUsableVault(owner, vaultId);
    const secret = this.#repository.findSecret(vaultId, secretId);
    if (isOver(secret.record.value.deletes_at, this.#clock)) throw notFound("secret");
    return { vault, secret };
  }
}

function notPlanned(what: string): AppError {
  return new AppError("deletion_not_planned", { message: `no deletion of this ${what} is planned` });
}

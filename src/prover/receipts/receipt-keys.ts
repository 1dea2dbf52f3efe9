/**
 * The keys that sign receipts: Ed25519 keys in the vault of the prover's owner, one at a time for each prover, made for
 * the first receipt. Their public halves are kept here, apart from vault and prover, and stay when either is deleted:
 * receipts are checked for longer than their key signs.
 */
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, notFound } from "../../platform/errors.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/commits.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";
import type { Page } from "../../platform/store/tables.js";
import type { Listed, StoredProver } from "../repository.js";
import type { ProverVault } from "../vault-port.js";
import { RECEIPT_ALGORITHM, RECEIPT_TYPE, type ReceiptKey, type ReceiptKeySet } from "./receipt-schemas.js";

/** The record of a key. A type and not an interface, like everything that is stored as a value. */
type StoredReceiptKey = {
  /** Of the vault's key. */
  readonly kid: string;
  /** The prover's owner, as `formatSubject` writes it. */
  readonly owner: string;
  readonly prover_id: string;
  readonly vault_id: string;
  /** The public key, base64url. */
  readonly x: string;
  readonly created_at: string;
  readonly retired_at: string | null;
  readonly revoked_at: string | null;
  readonly reason: string | null;
};

/** Which key of a prover signs. */
type Signer = { readonly kid: string; readonly vault_id: string };

/** The prover whose receipts are signed. */
export type SigningProver = Pick<StoredProver, "id" | "vault_id"> & { readonly build: { readonly owner: Subject } };

interface ReceiptKeysDependencies {
  readonly store: Store;
  readonly vault: Pick<ProverVault, "prepareSigningKey" | "requireUsable" | "signTokens" | "deleteKey">;
  readonly clock: Clock;
}

/** Keys by prover and id: key sets are read without their owner, whom the readers do not know. */
const KEYS = "receipt_key";
/** The key in use, by prover. */
const SIGNERS = "receipt_signer";
/** One rotation a day for three years; the key set then has 200 KB. */
const KEYS_MAX = 1000;
/** Another request may delete, rotate or revoke the key between its look-up and its use. */
const SIGN_TRIES_MAX = 4;
const KEY_NAME = { name: "receipts", description: "signs the prover's receipts" };

export class ReceiptKeys {
  readonly #with: ReceiptKeysDependencies;

  constructor(dependencies: ReceiptKeysDependencies) {
    this.#with = dependencies;
  }

  /**
   * Makes sure that the prover has a key that can be used; one that was deleted from the vault is replaced.
   * @throws AppError `prover_keys_missing` when its vault was deleted, `key_disabled` for a key that its owner has
   *   disabled, `receipt_key_limit_reached`, `vault_sealed`
   */
  async prepare(prover: SigningProver): Promise<void> {
    const signer = this.#signer(prover.id)?.value;
    try {
      if (signer !== undefined) {
        this.#with.vault.requireUsable(prover.build.owner, { vaultId: signer.vault_id, keyId: signer.kid });
        return;
      }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
    }
    await this.#make(prover, signer?.kid);
  }

  /**
   * Signs the claims of receipts; returns a compact JWS for each. A key that was deleted meanwhile is replaced.
   * @param payloads JSON texts
   * @throws AppError as `prepare`
   */
  async sign(prover: SigningProver, payloads: readonly string[]): Promise<string[]> {
    const { owner } = prover.build;
    for (let tries = 0; ; tries += 1) {
      const { kid, vault_id: vaultId } = this.#signer(prover.id)?.value ?? (await this.#make(prover, undefined));
      try {
        return await this.#with.vault.signTokens(owner, { vaultId, keyId: kid }, { payloads, type: RECEIPT_TYPE });
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "not_found" || tries >= SIGN_TRIES_MAX) throw error;
        await this.#make(prover, kid);
      }
    }
  }

  /**
   * Makes a new key, which signs from now on, and retires the one before it.
   * @throws AppError as `prepare`
   */
  async rotate(prover: SigningProver): Promise<ReceiptKey> {
    const last = this.#signer(prover.id)?.value;
    const signer = await this.#make(prover, last?.kid);
    if (last !== undefined) await this.#deletePrivateKey(prover.build.owner, last);
    const made = this.#find(prover.id, signer.kid);
    if (made === undefined) throw notFound("key");
    return onWire(made.value);
  }

  /**
   * Revokes a key: its receipts are worth nothing any more. The next receipt is signed with a new one.
   * @throws AppError `not_found` for a key that the owner's prover does not have
   */
  async revoke(owner: Subject, proverId: string, kid: string, reason: string | null): Promise<ReceiptKey> {
    const revoked = await retryOnConflict(async () => {
      const record = this.#find(proverId, kid);
      if (record === undefined || record.value.owner !== formatSubject(owner)) throw notFound("key");
      if (record.value.revoked_at !== null) return record.value;
      const now = isoTimestamp(this.#with.clock.nowMs());
      const next = { ...record.value, retired_at: record.value.retired_at ?? now, revoked_at: now, reason };
      const signer = this.#signer(proverId);
      await this.#with.store.commit(
        mergeCommits(change(record, next), signer?.value.kid === kid ? deletion(signer) : {}),
      );
      return next;
    });
    await this.#deletePrivateKey(owner, revoked);
    return onWire(revoked);
  }

  /** Lists one page of a prover's keys, oldest first. */
  list(proverId: string, { page, rpp }: Page): Listed<ReceiptKey> {
    const keys = this.#keysOf(proverId);
    return { body: keys.slice((page - 1) * rpp, page * rpp).map(onWire), total: keys.length };
  }

  /**
   * Returns the key set of a prover.
   * @throws AppError `not_found` for one that has signed nothing, or does not exist
   */
  keySet(proverId: string): ReceiptKeySet {
    const keys = this.#keysOf(proverId);
    if (keys.length === 0) throw notFound("key set");
    return {
      keys: keys.filter(({ revoked_at }) => revoked_at === null).map(publicKeyOf),
      revoked_keys: keys.flatMap((key) =>
        key.revoked_at === null ? [] : [{ ...publicKeyOf(key), revoked_at: key.revoked_at, reason: key.reason }],
      ),
    };
  }

  #keysOf(proverId: string): StoredReceiptKey[] {
    const keys = this.#with.store.range<StoredReceiptKey>([KEYS, proverId]).map(({ value }) => value);
    return keys.sort((a, b) => a.created_at.localeCompare(b.created_at) || a.kid.localeCompare(b.kid));
  }

  #signer(proverId: string): StoreRecord<Signer> | undefined {
    return this.#with.store.get<Signer>(signerKey(proverId));
  }

  #find(proverId: string, kid: string): StoreRecord<StoredReceiptKey> | undefined {
    return this.#with.store.get<StoredReceiptKey>(recordKey(proverId, kid));
  }

  /**
   * Returns the signer that follows the given one: what another request has made meanwhile, or a new one.
   * @param last the signer that is no longer wanted; undefined where there is none
   */
  async #make(prover: SigningProver, last: string | undefined): Promise<Signer> {
    const { id, vault_id, build } = prover;
    return await retryOnConflict(async () => {
      const current = this.#signer(id);
      if (current !== undefined && current.value.kid !== last) return current.value;
      if (this.#with.store.count([KEYS, id]) >= KEYS_MAX)
        throw new AppError("receipt_key_limit_reached", {
          message: `a prover has at most ${String(KEYS_MAX)} keys for receipts, all of which stay published`,
        });
      const { keyId, publicKey, commit } = await this.#prepareKey(prover);
      const now = isoTimestamp(this.#with.clock.nowMs());
      const key: StoredReceiptKey = {
        ...{ kid: keyId, owner: formatSubject(build.owner), prover_id: id, vault_id, created_at: now },
        x: Buffer.from(publicKey).toString("base64url"),
        ...{ retired_at: null, revoked_at: null, reason: null },
      };
      const signer: Signer = { kid: keyId, vault_id };
      const before = current === undefined ? undefined : this.#find(id, current.value.kid);
      await this.#with.store.commit(
        mergeCommits(commit, before === undefined ? {} : change(before, { ...before.value, retired_at: now }), {
          checks: [
            { key: signerKey(id), version: current?.version ?? "absent" },
            { key: recordKey(id, keyId), version: "absent" },
          ],
          puts: [
            { key: signerKey(id), value: signer },
            { key: recordKey(id, keyId), value: key },
          ],
        }),
      );
      return signer;
    });
  }

  async #prepareKey({ vault_id, build }: SigningProver): ReturnType<ProverVault["prepareSigningKey"]> {
    try {
      return await this.#with.vault.prepareSigningKey(build.owner, vault_id, KEY_NAME);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      const message = "the prover's vault was deleted, so that nothing can sign its receipts";
      throw new AppError("prover_keys_missing", { message, cause: error });
    }
  }

  /** What no longer signs is not kept. A crash before this leaves a key in the vault that nothing uses. */
  async #deletePrivateKey(owner: Subject, { kid, vault_id }: Signer): Promise<void> {
    try {
      await this.#with.vault.deleteKey(owner, { vaultId: vault_id, keyId: kid });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
    }
  }
}

function signerKey(proverId: string): StoreKey {
  return [SIGNERS, proverId];
}

function recordKey(proverId: string, kid: string): StoreKey {
  return [KEYS, proverId, kid];
}

function change({ key, version }: StoreRecord<StoredReceiptKey>, next: StoredReceiptKey): StoreCommit {
  return { checks: [{ key, version }], puts: [{ key, value: next }] };
}

function deletion({ key, version }: StoreRecord<Signer>): StoreCommit {
  return { checks: [{ key, version }], deletes: [key] };
}

function publicKeyOf({ kid, x }: StoredReceiptKey): ReceiptKeySet["keys"][number] {
  return { kty: "OKP", crv: "Ed25519", alg: RECEIPT_ALGORITHM, use: "sig", kid, x };
}

function onWire({ kid, created_at, retired_at, revoked_at, reason }: StoredReceiptKey): ReceiptKey {
  const state = revoked_at !== null ? "revoked" : retired_at !== null ? "retired" : "current";
  return { kid, created_at, state, retired_at, revoked_at, reason };
}

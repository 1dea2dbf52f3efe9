/**
 * Keys that sign statements of the server, such as receipts or tree heads: Ed25519 keys in a vault of the owner, one at
 * a time for each party, made for the first statement. Their public halves are kept here, apart from vault and party,
 * and stay when either is deleted: statements are checked for longer than their key signs.
 */
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, notFound, type ErrorCode } from "../../platform/errors.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/commits.js";
import {
  StoreConflict,
  type Store,
  type StoreCommit,
  type StoreKey,
  type StoreRecord,
} from "../../platform/store/store.js";
import type { Page } from "../../platform/store/tables.js";
import type { Listed } from "../repository.js";
import type { ProverVault } from "../vault-port.js";
import { SIGNING_ALGORITHM, type SigningKey, type SigningKeySet } from "./signing-key-schemas.js";

/** The record of a key. A type and not an interface, like everything that is stored as a value. */
type StoredSigningKey = {
  /** Of the vault's key. */
  readonly kid: string;
  /** The prover's owner, as `formatSubject` writes it. */
  readonly owner: string;
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

/** In whose name statements are signed, such as a prover or a store. */
export interface SigningParty {
  readonly id: string;
  readonly owner: Subject;
  /** Vaults in which its keys may be made, the first to be taken first. */
  readonly vaultIds: readonly string[];
}

/** What the keys of one kind of statements are called. */
export interface SigningPurpose {
  /** Table of the keys, by party and id: key sets are read without their owner, whom the readers do not know. */
  readonly keysTable: string;
  /** Table of the key in use, by party. */
  readonly signersTable: string;
  /** The `typ` of the signed statements. */
  readonly type: string;
  readonly keyName: { readonly name: string; readonly description: string };
  /** For a party that has had as many keys as may be published. */
  readonly limitError: ErrorCode;
  /** For a party whose vaults were all deleted. */
  readonly noVaultError: { readonly code: ErrorCode; readonly message: string };
}

/** Statements as compact JWS, and the key that has signed all of them. */
export interface SignedStatements {
  readonly tokens: readonly string[];
  readonly vaultId: string;
  readonly kid: string;
  /** The public key, base64url. */
  readonly x: string;
}

/** What is used of the vault. */
export type SigningVault = Pick<
  ProverVault,
  "prepareSigningKey" | "requireUsable" | "signTokens" | "deleteKey" | "prepareKeyDeletion"
>;

interface SigningKeysDependencies {
  readonly store: Store;
  readonly vault: SigningVault;
  readonly clock: Clock;
}

/** One rotation a day for three years; the key set then has 200 KB. */
const KEYS_MAX = 1000;
/** Another request may delete, rotate or revoke the key between its look-up and its use. */
const SIGN_TRIES_MAX = 4;

export class SigningKeys {
  readonly #purpose: SigningPurpose;
  readonly #with: SigningKeysDependencies;

  constructor(purpose: SigningPurpose, dependencies: SigningKeysDependencies) {
    this.#purpose = purpose;
    this.#with = dependencies;
  }

  /**
   * Makes sure that the party has a key that can be used; one that was deleted from the vault is replaced.
   * @throws AppError the purpose's errors when its vaults were deleted or it has had too many keys, `key_disabled` for
   *   a key that its owner has disabled, `vault_sealed`
   */
  async prepare(party: SigningParty): Promise<void> {
    const signer = this.#signer(party.id)?.value;
    try {
      if (signer !== undefined) {
        this.#with.vault.requireUsable(party.owner, { vaultId: signer.vault_id, keyId: signer.kid });
        return;
      }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
    }
    await this.#make(party, signer?.kid);
  }

  /**
   * Signs statements; returns a compact JWS for each. A key that was deleted meanwhile is replaced.
   * @param payloads JSON texts
   * @throws AppError as `prepare`
   */
  async sign(party: SigningParty, payloads: readonly string[]): Promise<SignedStatements> {
    const { owner } = party;
    for (let tries = 0; ; tries += 1) {
      const { kid, vault_id: vaultId } = this.#signer(party.id)?.value ?? (await this.#make(party, undefined));
      try {
        const key = this.#find(party.id, kid)?.value;
        // Revoked or removed between the two reads, which is the same as a key that is gone.
        if (key === undefined) throw notFound("key");
        const tokens = await this.#with.vault.signTokens(
          owner,
          { vaultId, keyId: kid },
          { payloads, type: this.#purpose.type },
        );
        return { tokens, vaultId, kid, x: key.x };
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "not_found" || tries >= SIGN_TRIES_MAX) throw error;
        await this.#make(party, kid);
      }
    }
  }

  /**
   * Makes a new key, which signs from now on, and retires the one before it: its private half goes in the same commit.
   * Of two rotations at once the second one answers with the key of the first, and commits nothing.
   * @param keep returns what else is kept in that commit
   * @throws AppError as `prepare`
   */
  async rotate(party: SigningParty, keep?: (made: SigningKey) => StoreCommit): Promise<SigningKey> {
    const { owner } = party;
    const last = this.#signer(party.id)?.value;
    const { kid } = await this.#make(party, last?.kid, (made) =>
      mergeCommits(
        last === undefined
          ? {}
          : this.#with.vault.prepareKeyDeletion(owner, { vaultId: last.vault_id, keyId: last.kid }),
        keep?.(onWire(made)) ?? {},
      ),
    );
    const made = this.#find(party.id, kid);
    if (made === undefined) throw notFound("key");
    return onWire(made.value);
  }

  /**
   * Revokes a key: what it has signed is worth nothing any more. The next statement is signed with a new one.
   * @throws AppError `not_found` for a key that the owner's party does not have
   */
  async revoke(owner: Subject, partyId: string, kid: string, reason: string | null): Promise<SigningKey> {
    const revoked = await retryOnConflict(async () => {
      const record = this.#find(partyId, kid);
      if (record === undefined || record.value.owner !== formatSubject(owner)) throw notFound("key");
      if (record.value.revoked_at !== null) return record.value;
      const now = isoTimestamp(this.#with.clock.nowMs());
      const next = { ...record.value, retired_at: record.value.retired_at ?? now, revoked_at: now, reason };
      const signer = this.#signer(partyId);
      await this.#with.store.commit(
        mergeCommits(change(record, next), signer?.value.kid === kid ? deletion(signer) : {}),
      );
      return next;
    });
    await this.#deletePrivateKey(owner, revoked);
    return onWire(revoked);
  }

  /**
   * Takes over a key of the vault that signed before its party had keys here; the caller's commit goes with it.
   * It signs on, unless the party has another one already. Does nothing where another request does the same.
   */
  async adopt(
    party: SigningParty,
    { vaultId, kid, x }: Pick<SignedStatements, "vaultId" | "kid" | "x">,
    commit: StoreCommit,
  ): Promise<void> {
    const now = isoTimestamp(this.#with.clock.nowMs());
    const signer = this.#signer(party.id);
    const key: StoredSigningKey = {
      ...{ kid, owner: formatSubject(party.owner), vault_id: vaultId, x, created_at: now },
      ...{ retired_at: signer === undefined ? null : now, revoked_at: null, reason: null },
    };
    const own: StoreCommit = {
      checks: [
        { key: this.#recordKey(party.id, kid), version: "absent" },
        ...(signer === undefined ? [{ key: this.#signerKey(party.id), version: "absent" as const }] : []),
      ],
      puts: [
        { key: this.#recordKey(party.id, kid), value: key },
        ...(signer === undefined ? [{ key: this.#signerKey(party.id), value: { kid, vault_id: vaultId } }] : []),
      ],
    };
    try {
      await this.#with.store.commit(mergeCommits(commit, own));
    } catch (error) {
      // Another request has taken it over at the same time.
      if (!(error instanceof StoreConflict)) throw error;
    }
  }

  /** Lists one page of a party's keys, oldest first. */
  list(partyId: string, { page, rpp }: Page): Listed<SigningKey> {
    const keys = this.#keysOf(partyId);
    return { body: keys.slice((page - 1) * rpp, page * rpp).map(onWire), total: keys.length };
  }

  /**
   * Returns the key set of a party.
   * @throws AppError `not_found` for one that has signed nothing, or does not exist
   */
  keySet(partyId: string): SigningKeySet {
    const keys = this.#keysOf(partyId);
    if (keys.length === 0) throw notFound("key set");
    return {
      keys: keys.filter(({ revoked_at }) => revoked_at === null).map(publicKeyOf),
      revoked_keys: keys.flatMap((key) =>
        key.revoked_at === null ? [] : [{ ...publicKeyOf(key), revoked_at: key.revoked_at, reason: key.reason }],
      ),
    };
  }

  #keysOf(partyId: string): StoredSigningKey[] {
    const keys = this.#with.store.range<StoredSigningKey>([this.#purpose.keysTable, partyId]).map(({ value }) => value);
    return keys.sort((a, b) => a.created_at.localeCompare(b.created_at) || a.kid.localeCompare(b.kid));
  }

  #signer(partyId: string): StoreRecord<Signer> | undefined {
    return this.#with.store.get<Signer>(this.#signerKey(partyId));
  }

  #find(partyId: string, kid: string): StoreRecord<StoredSigningKey> | undefined {
    return this.#with.store.get<StoredSigningKey>(this.#recordKey(partyId, kid));
  }

  /**
   * Returns the signer that follows the given one: what another request has made meanwhile, or a new one.
   * @param last the signer that is no longer wanted; undefined where there is none
   * @param alongside returns what else is in the commit of a new one
   */
  async #make(
    party: SigningParty,
    last: string | undefined,
    alongside: (made: StoredSigningKey) => StoreCommit = () => ({}),
  ): Promise<Signer> {
    const { id, owner } = party;
    return await retryOnConflict(async () => {
      const current = this.#signer(id);
      if (current !== undefined && current.value.kid !== last) return current.value;
      if (this.#with.store.count([this.#purpose.keysTable, id]) >= KEYS_MAX)
        throw new AppError(this.#purpose.limitError, {
          message: `there are at most ${String(KEYS_MAX)} keys of this kind, all of which stay published`,
        });
      const { vault_id, keyId, publicKey, commit } = await this.#prepareKey(party);
      const now = isoTimestamp(this.#with.clock.nowMs());
      const key: StoredSigningKey = {
        ...{ kid: keyId, owner: formatSubject(owner), vault_id, created_at: now },
        x: Buffer.from(publicKey).toString("base64url"),
        ...{ retired_at: null, revoked_at: null, reason: null },
      };
      const signer: Signer = { kid: keyId, vault_id };
      const before = current === undefined ? undefined : this.#find(id, current.value.kid);
      await this.#with.store.commit(
        mergeCommits(
          commit,
          before === undefined ? {} : change(before, { ...before.value, retired_at: now }),
          {
            checks: [
              { key: this.#signerKey(id), version: current?.version ?? "absent" },
              { key: this.#recordKey(id, keyId), version: "absent" },
            ],
            puts: [
              { key: this.#signerKey(id), value: signer },
              { key: this.#recordKey(id, keyId), value: key },
            ],
          },
          alongside(key),
        ),
      );
      return signer;
    });
  }

  async #prepareKey({
    owner,
    vaultIds,
  }: SigningParty): Promise<Awaited<ReturnType<ProverVault["prepareSigningKey"]>> & { readonly vault_id: string }> {
    for (const vault_id of vaultIds) {
      try {
        return { vault_id, ...(await this.#with.vault.prepareSigningKey(owner, vault_id, this.#purpose.keyName)) };
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      }
    }
    const { code, message } = this.#purpose.noVaultError;
    throw new AppError(code, { message });
  }

  /** What no longer signs is not kept. A crash before this leaves a key in the vault that nothing uses. */
  async #deletePrivateKey(owner: Subject, { kid, vault_id }: Signer): Promise<void> {
    try {
      await this.#with.vault.deleteKey(owner, { vaultId: vault_id, keyId: kid });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
    }
  }

  #signerKey(partyId: string): StoreKey {
    return [this.#purpose.signersTable, partyId];
  }

  #recordKey(partyId: string, kid: string): StoreKey {
    return [this.#purpose.keysTable, partyId, kid];
  }
}

function change({ key, version }: StoreRecord<StoredSigningKey>, next: StoredSigningKey): StoreCommit {
  return { checks: [{ key, version }], puts: [{ key, value: next }] };
}

function deletion({ key, version }: StoreRecord<Signer>): StoreCommit {
  return { checks: [{ key, version }], deletes: [key] };
}

function publicKeyOf({ kid, x }: StoredSigningKey): SigningKeySet["keys"][number] {
  return { kty: "OKP", crv: "Ed25519", alg: SIGNING_ALGORITHM, use: "sig", kid, x };
}

function onWire({ kid, created_at, retired_at, revoked_at, reason }: StoredSigningKey): SigningKey {
  const state = revoked_at !== null ? "revoked" : retired_at !== null ? "retired" : "current";
  return { kid, created_at, state, retired_at, revoked_at, reason };
}

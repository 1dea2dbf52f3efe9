/**
 * Operations without a private key: verification under public keys that callers bring, BLS aggregates, and the public
 * keys of a vault as a key set.
 */
import type { MaybeRefused, WithRefusedItems } from "../../platform/contract/refused-item.js";
import { invalidMember } from "../../platform/errors.js";
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import type { Page } from "../../platform/store/tables.js";
import {
  batchOf,
  itemsOf,
  refusalOf,
  workerKindFor,
  runSlices,
  valueOf,
  type BatchJson,
} from "../threads/item-batches.js";
import { findKeySpec } from "../key-specs/table.js";
import type {
  BlsAggregateInput,
  BlsFastInput,
  BlsPossessionInput,
  BlsVerifyInput,
  VerifyDetachedInput,
} from "./operation-schemas.js";
import type { ItemOutcome, VaultTasks } from "../protocol.js";
import { keyReference, type VaultRepository } from "../repository.js";
import type { VaultSeal } from "../seal/seal.js";

export interface PublicOperationsDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
}

/** Who asks, in whose turn the request waits, and until when. */
export interface PublicCall {
  readonly caller: Subject;
  readonly signal?: AbortSignal;
}

interface Verified {
  verified: boolean;
}

interface Aggregate {
  aggregate_signature: string;
}

const PROOFS_OR_STATEMENT =
  "give `proofs`, one proof of possession for each key, or `proofs_checked: true` where they were checked before: without them a signer could choose a key that cancels the others'";
/** Stands for the record where a task opens none. */
const NO_RECORD = "none";

/** Runs operations on public keys and signatures. */
export class PublicOperations {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;

  constructor(dependencies: PublicOperationsDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
  }

  /**
   * Verifies one item or a batch under the public keys that they bring; a wrong signature is `verified: false`.
   * @throws for a single item `key_spec_unknown`, `spec_cannot_verify`, `public_key_invalid`, and the reason why its
   * message is refused
   */
  async verify(
    input: WithRefusedItems<VerifyDetachedInput>,
    { caller, signal }: PublicCall,
  ): Promise<Verified | BatchJson<Verified>> {
    const { items, isBatch } = itemsOf<MaybeRefused<Omit<VerifyDetachedInput, "batch">>>(input);
    const specs = items.flatMap(({ spec }) => findKeySpec(spec ?? "") ?? []);
    const operationUs = Math.max(1, ...specs.map((spec) => spec.operationUs));
    const worker = isBatch ? "bulk" : workerKindFor({ operationUs });
    const outcomes = await runSlices(
      items,
      { operationUs, signal },
      async (slice) =>
        await this.#seal.run("verify_detached", { owner: formatSubject(caller), items: slice, worker }, NO_RECORD),
    );
    return isBatch ? batchOf<Verified>(outcomes.flat()) : (valueOf(outcomes.flat()[0]) as Verified);
  }

  /** Adds up BLS signatures, for one item or a batch. Throws `signature_malformed` for a single item. */
  async blsAggregate(
    input: WithRefusedItems<BlsAggregateInput>,
    { caller, signal }: PublicCall,
  ): Promise<Aggregate | BatchJson<Aggregate>> {
    return await this.#blsItems<Aggregate, MaybeRefused<Omit<BlsAggregateInput, "batch">>>(
      input,
      signal,
      async ({ signatures }) =>
        signatures === undefined
          ? missingMember("signatures")
          : await this.#seal.run("bls_aggregate", { owner: formatSubject(caller), signatures }, NO_RECORD),
    );
  }

  /**
   * Verifies aggregates of BLS signatures, for one item or a batch.
   * @throws for a single item `messages_not_distinct`, `digest_length_invalid`, `public_key_invalid`,
   * `signature_malformed`
   */
  async blsVerify(
    input: WithRefusedItems<BlsVerifyInput>,
    { caller, signal }: PublicCall,
  ): Promise<Verified | BatchJson<Verified>> {
    return await this.#blsItems<Verified, MaybeRefused<Omit<BlsVerifyInput, "batch">>>(
      input,
      signal,
      async ({ messages, public_keys, signature }) => {
        if (messages === undefined) return missingMember("messages");
        if (public_keys === undefined) return missingMember("public_keys");
        if (signature === undefined) return missingMember("signature");
        const claim = { messages, public_keys, signature };
        return await this.#seal.run("bls_verify", { owner: formatSubject(caller), ...claim }, NO_RECORD);
      },
    );
  }

  /**
   * Verifies aggregates of BLS signatures of many keys on one message, for one item or a batch. The possession of each
   * key must be proven, or the caller states that it was.
   * @throws for a single item `public_key_invalid`, `signature_malformed`, `message_too_long`
   */
  async blsFastVerify(
    input: WithRefusedItems<BlsFastInput>,
    { caller, signal }: PublicCall,
  ): Promise<Verified | BatchJson<Verified>> {
    return await this.#blsItems<Verified, MaybeRefused<Omit<BlsFastInput, "batch">>>(
      input,
      signal,
      async ({ message, public_keys: keys, signature, proofs, proofs_checked: isChecked = false }) => {
        if (message === undefined) return missingMember("message");
        if (keys === undefined) return missingMember("public_keys");
        if (signature === undefined) return missingMember("signature");
        if (isChecked === (proofs !== undefined)) return refusedMember("proofs", PROOFS_OR_STATEMENT);
        if (proofs !== undefined && proofs.length !== keys.length)
          return refusedMember("proofs", "there must be one proof of possession for each public key");
        const owner = formatSubject(caller);
        for (const [index, proof] of (proofs ?? []).entries()) {
          signal?.throwIfAborted();
          const outcome = await this.#possession({ owner, public_key: keys[index] ?? "", proof }, index);
          if (outcome !== undefined) return outcome;
        }
        return await this.#seal.run("bls_fast_verify", { owner, message, public_keys: keys, signature }, NO_RECORD);
      },
    );
  }

  /**
   * Verifies proofs of possession of BLS keys, for one item or a batch.
   * @throws for a single item `public_key_invalid`, `signature_malformed`
   */
  async blsVerifyPossession(
    input: WithRefusedItems<BlsPossessionInput>,
    { caller, signal }: PublicCall,
  ): Promise<Verified | BatchJson<Verified>> {
    return await this.#blsItems<Verified, MaybeRefused<Omit<BlsPossessionInput, "batch">>>(
      input,
      signal,
      async ({ public_key: key, proof }) => {
        if (key === undefined) return missingMember("public_key");
        if (proof === undefined) return missingMember("proof");
        const claim = { owner: formatSubject(caller), public_key: key, proof };
        return await this.#seal.run("bls_verify_possession", claim, NO_RECORD);
      },
    );
  }

  /** Verifies the proof of one key of many, and returns the outcome of the whole where it decides it. */
  async #possession(
    claim: VaultTasks["bls_verify_possession"]["message"],
    index: number,
  ): Promise<ItemOutcome | undefined> {
    const outcome = await this.#seal.run("bls_verify_possession", claim, NO_RECORD);
    if (outcome.ok) return (outcome.value as Verified).verified ? undefined : outcome;
    const list = outcome.details[0]?.path === "proof" ? "proofs" : "public_keys";
    const path = `${list}[${String(index)}]`;
    const details = outcome.details.map((detail) => ({ ...detail, path }));
    return { ...outcome, details };
  }

  /** Sends each item to the thread alone, because it takes tens of milliseconds. */
  async #blsItems<Result, Item extends object>(
    input: Item & { readonly batch?: readonly Item[] },
    signal: AbortSignal | undefined,
    run: (item: Item) => Promise<ItemOutcome>,
  ): Promise<Result | BatchJson<Result>> {
    const { items, isBatch } = itemsOf<Item>(input);
    const outcomes = await runSlices(
      items,
      { operationUs: Infinity, signal },
      async (slice) => await Promise.all(slice.map(async (item) => refusalOf(item) ?? (await run(item)))),
    );
    return isBatch ? batchOf<Result>(outcomes.flat()) : (valueOf(outcomes.flat()[0]) as Result);
  }

  /**
   * Returns the public keys of a page of a vault's asymmetric keys as JSON Web Keys. Leaves out disabled keys and specs
   * without a registered form; the total counts all asymmetric keys. Throws `not_found`.
   */
  async jwks(
    owner: Subject,
    vaultId: string,
    page: Page,
  ): Promise<{ body: { keys: Record<string, string>[] }; total: number }> {
    this.#seal.requireUnsealed();
    const vault = this.#repository.findUsableVault(owner, vaultId);
    const { rows, total } = this.#repository.listKeys(vaultId, { type: "asymmetric" }, page);
    const keys = rows.map(keyReference).filter(({ isDisabled }) => isDisabled !== true);
    const found = await this.#seal.run("json_web_keys", { vault: vault.reference, keys }, vaultId);
    return { body: { keys: found.map((key) => ({ ...key })) }, total };
  }
}

function missingMember(name: string): ItemOutcome {
  return refusedMember(name, `\`${name}\` is required`);
}

function refusedMember(name: string, reason: string): ItemOutcome {
  const { code, message, details } = invalidMember(name, reason);
  return { ok: false, code, message, details };
}

/** What an owner reads of its stores, in the forms of the API. */
import { invalidMember, notFound } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { Page } from "../../platform/store/tables.js";
import { consistencyInputs, inclusionInputs, nullifierInputs } from "../../engine/merkle/circuit-inputs.js";
import { consistencyJson, inclusionJson, sparseJson } from "../../engine/merkle/proof-json.js";
import type { SparseProof } from "../../engine/merkle/sparse-tree.js";
import type { Listed } from "../repository.js";
import type { Places } from "../sharing/places.js";
import type { ProverAccess } from "../sharing/prover-access.js";
import type { HeadKeys } from "./head-keys.js";
import type { ProofStores } from "./proof-stores.js";
import { stateOf, type ProofStore as StoredStore, type StoreReference } from "./store-records.js";
import { requireKey, type PastTree, type StoreProofs } from "./store-proofs.js";
import {
  PROVERS_OF_STORE_MAX,
  type NoteInclusion,
  type NullifierProof,
  type ProofStore,
  type ProverNullifier,
  type StoreConsistency,
  type StoreRoot,
  type TreeHead,
} from "./store-schemas.js";
import type { TreeHeads } from "./tree-heads.js";

/** Of a key in hex. */
const KEY_DIGITS = 64;

interface StoresServiceDependencies {
  readonly stores: ProofStores;
  readonly storeProofs: StoreProofs;
  readonly heads: TreeHeads;
  readonly headKeys: HeadKeys;
  readonly access: ProverAccess;
  readonly places: Places;
}

export class StoresService {
  readonly #with: StoresServiceDependencies;

  constructor(dependencies: StoresServiceDependencies) {
    this.#with = dependencies;
  }

  /** Returns one page of the owner's stores, in the order of their ids. */
  list(owner: Subject, page: Page): Listed<ProofStore> {
    const { stores, total } = this.#with.stores.list(owner, page);
    return { body: stores.map((store) => this.#onWire(owner, store)), total };
  }

  /** @throws AppError `not_found`, as every method that takes a store's id */
  get(owner: Subject, id: string): ProofStore {
    return this.#onWire(owner, this.#require({ owner, id }));
  }

  /** Returns one page of the roots that a store had after its commits, the latest first. */
  roots(owner: Subject, id: string, page: Page): Listed<StoreRoot> {
    this.#require({ owner, id });
    const { roots, total } = this.#with.stores.roots({ owner, id }, page);
    return { body: roots, total };
  }

  /** Signs the present head; see `TreeHeads.now`. */
  async head(owner: Subject, id: string): Promise<TreeHead> {
    return await this.#with.heads.now({ owner, id });
  }

  /** Returns one page of the kept heads, the latest first. */
  heads(owner: Subject, id: string, page: Page): Listed<TreeHead> {
    const { heads, total } = this.#with.heads.list({ owner, id }, page);
    return { body: [...heads], total };
  }

  /** The keys that sign heads. */
  get headKeys(): Pick<HeadKeys, "keySet" | "list" | "rotate" | "revoke"> {
    return this.#with.headKeys;
  }

  /** Proves that a note is in a store; see `StoreProofs.note`. */
  async noteProof(
    owner: Subject,
    id: string,
    { index, size }: { readonly index: number; readonly size?: number | undefined },
  ): Promise<NoteInclusion> {
    const proof = await this.#with.storeProofs.note({ owner, id }, index, size);
    return { inputs: {}, ...onWire(id, inclusionJson(proof), inclusionInputs(proof)) };
  }

  /** Proves that a store has only grown; see `StoreProofs.consistency`. */
  async consistency(
    owner: Subject,
    id: string,
    { from = 0, to }: { readonly from?: number | undefined; readonly to?: number | undefined },
  ): Promise<StoreConsistency> {
    const proof = await this.#with.storeProofs.consistency({ owner, id }, from, to);
    const isFull = proof.fromSize === 2 ** proof.depth;
    return onWire(id, consistencyJson(proof), isFull ? undefined : consistencyInputs(proof));
  }

  /** Proves that a key was spent, or that it was not; see `StoreProofs.nullifier`. */
  nullifierProof(
    owner: Subject,
    id: string,
    key: string,
    { levels, ...past }: PastTree & { readonly levels?: number | undefined },
  ): NullifierProof {
    const { proof, size } = this.#with.storeProofs.nullifier({ owner, id }, keyOf(key), past);
    return { size, ...onWire(id, sparseJson(proof), levels === undefined ? undefined : inputsFor(proof, levels)) };
  }

  /**
   * Returns whether a key was spent with a prover: in the store of its owner, or, of a note that the caller has made
   * with another's prover, in its own.
   * @throws AppError `not_found`, `forbidden` for one who may verify only
   */
  proverNullifier(caller: Subject, proverId: string, text: string): ProverNullifier {
    const { prover, isOwner } = this.#with.access.require(caller, proverId, "prove");
    const key = keyOf(text);
    const shared = { owner: prover.build.owner, id: prover.nullifier_store_id };
    const place = isOwner ? undefined : this.#with.places.find(caller, proverId)?.value;
    const own = place === undefined ? [] : [{ owner: caller, id: place.nullifier_store_id }];
    requireKey(key, this.#require(shared));
    const found = [shared, ...own].find((reference) => this.#with.stores.readNullifier(reference, key) !== undefined);
    const reference = found ?? shared;
    const spent = this.#with.stores.readNullifier(reference, key);
    const isMine = reference.owner.id === caller.id && reference.owner.kind === caller.kind;
    const value = isMine ? (spent?.note ?? base64(spent?.value)) : base64(spent?.value);
    return {
      key,
      ...stateOf(this.#require(reference)),
      spent: spent !== undefined,
      spent_at: spent?.created_at ?? null,
      value,
    };
  }

  #require(reference: StoreReference): StoredStore {
    const record = this.#with.stores.find(reference)?.value;
    if (record === undefined) throw notFound("store");
    return record;
  }

  #onWire(owner: Subject, store: StoredStore): ProofStore {
    const { id, created_at, name, kind, curve } = store;
    const provers = this.#with.stores.users({ owner, id }, PROVERS_OF_STORE_MAX);
    return { id, created_at, name, kind, curve, ...stateOf(store), provers };
  }
}

/**
 * Reads a key of a path: 64 hex digits, fewer with 0x, or a decimal of another length.
 * @throws AppError `invalid_request` for a decimal of more than 256 bits
 */
function keyOf(text: string): string {
  const isHex = text.startsWith("0x") || text.length === KEY_DIGITS;
  const digits = isHex ? text.replace(/^0x/, "").toLowerCase() : BigInt(text).toString(16);
  if (digits.length > KEY_DIGITS) throw invalidMember("key", "key: a key has at most 256 bits");
  return digits.padStart(KEY_DIGITS, "0");
}

function base64(hex: string | undefined): string {
  return hex === undefined ? "" : Buffer.from(hex, "hex").toString("base64");
}

/** @throws AppError `invalid_request` for a circuit that cannot check the proof */
function inputsFor(proof: SparseProof, levels: number): ReturnType<typeof nullifierInputs> {
  try {
    return nullifierInputs(proof, levels);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw invalidMember("levels", `levels: ${error.message}`);
  }
}

/** The forms of the API have lists that may be changed, and those of the engine do not. */
function onWire<Proof extends { readonly siblings: readonly string[] }>(
  storeId: string,
  proof: Proof,
  inputs: ReturnType<typeof nullifierInputs> | undefined,
) {
  const copied = Object.entries(inputs ?? {}).map(([name, value]) => [
    name,
    typeof value === "string" ? value : [...value],
  ]);
  return {
    store_id: storeId,
    ...proof,
    siblings: [...proof.siblings],
    ...(inputs === undefined ? {} : { inputs: Object.fromEntries(copied) as Record<string, string | string[]> }),
  };
}

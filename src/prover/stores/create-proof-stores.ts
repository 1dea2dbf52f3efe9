/** Opens the stores, and builds what appends to them, proves about them and signs their roots. */
import type { Subject } from "../../platform/auth/principal.js";
import type { Clock } from "../../platform/clock.js";
import type { Jobs } from "../../platform/jobs/jobs.js";
import type { Log } from "../../platform/log.js";
import type { Store } from "../../platform/store/store.js";
import type { Catalog } from "../catalog.js";
import type { ProverCompute } from "../compute/compute.js";
import type { SigningVault } from "../receipts/signing-keys.js";
import type { ProverRepository } from "../repository.js";
import type { Places } from "../sharing/places.js";
import type { ProverAccess } from "../sharing/prover-access.js";
import { HeadKeys } from "./head-keys.js";
import { ProofStores } from "./proof-stores.js";
import { Spending } from "./spending.js";
import { StoreAppends } from "./store-appends.js";
import { StoreProofs } from "./store-proofs.js";
import { StoreRemovals } from "./store-removals.js";
import { TreeHeads } from "./tree-heads.js";

interface StoreParts {
  readonly store: Store;
  readonly stores: ProofStores;
  readonly vault: SigningVault;
  readonly compute: Pick<ProverCompute, "appendNotes" | "insertNullifiers" | "proveNotes">;
  readonly repository: ProverRepository;
  readonly catalog: Catalog;
  readonly access: ProverAccess;
  readonly places: Places;
  readonly turnOf: (subject: Subject) => string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Provers of a store whose vaults are tried for a key that signs its heads. */
const SIGNING_PROVERS_MAX = 100;

/** Opens the stores of notes and nullifiers, with the jobs that remove large ones. */
export function openProofStores(
  { store, jobs, clock }: { readonly store: Store; readonly jobs: Jobs; readonly clock: Clock },
  turnOf: (subject: Subject) => string,
): { readonly stores: ProofStores; readonly removals: StoreRemovals } {
  const removals = new StoreRemovals({ store, jobs });
  removals.register(turnOf);
  return { stores: new ProofStores({ store, removals, clock }), removals };
}

/** Builds the parts; each hashes in the turn of the store's owner. */
export function createProofStores(parts: StoreParts): {
  readonly appends: StoreAppends;
  readonly spending: Spending;
  readonly storeProofs: StoreProofs;
  readonly heads: TreeHeads;
  readonly headKeys: HeadKeys;
} {
  const { compute, stores, repository, places, turnOf } = parts;
  const headKeys = new HeadKeys({
    ...parts,
    vaultsOf: ({ owner, id }) =>
      stores.users({ owner, id }, SIGNING_PROVERS_MAX).flatMap((proverId) => {
        const prover = repository.find(owner, proverId)?.value ?? places.find(owner, proverId)?.value;
        return prover === undefined ? [] : [prover.vault_id];
      }),
  });
  const heads = new TreeHeads({ ...parts, keys: headKeys });
  return {
    ...{ heads, headKeys },
    spending: new Spending(parts),
    appends: new StoreAppends({
      ...parts,
      appendNotes: async (message, owner) => await compute.appendNotes(message, { owner: turnOf(owner) }),
      insertNullifiers: async (message, owner) => await compute.insertNullifiers(message, { owner: turnOf(owner) }),
      onGrown: (growths) => {
        heads.onGrown(growths);
      },
    }),
    storeProofs: new StoreProofs({
      ...parts,
      proveNotes: async (message, owner) => await compute.proveNotes(message, { owner: turnOf(owner) }),
    }),
  };
}

/**
 * What existing clients repeat of a prover when they prove or verify: its name, its kind, its stores, its owner.
 * Nothing of it decides anything; where it contradicts the prover, the client means another one and is told so.
 */
import { missingReference } from "../platform/references.js";
import { invalidMember } from "../platform/errors.js";
import type { Catalog } from "./catalog.js";
import type { Prover, SaidProver } from "./schemas.js";
import type { Place } from "./sharing/places.js";

/** Members that name what is the caller's own of another's prover, by what they name. */
const PLACE_IDS = {
  vault_id: "vault",
  store_id: "store",
  note_store_id: "store",
  nullifier_store_id: "store",
} as const;

/** Members that name one thing of the prover, by the member of the prover's record. */
const IDS = { prover_id: "id", vault_id: "vault_id" } as const;
const STORES = { store_id: "note store", note_store_id: "note store", nullifier_store_id: "nullifier store" } as const;

/**
 * Checks what a body says of the prover that its path names.
 * @param hasStore whether the caller has a store with this id
 * @throws AppError `invalid_request` naming the member that contradicts, `not_found` for a store that the caller does
 *   not have
 */
export function requireSaidProver(
  said: SaidProver,
  prover: Prover,
  { catalog, hasStore }: { readonly catalog: Catalog; readonly hasStore: (id: string) => boolean },
): void {
  const texts = {
    name: (text: string) => text,
    identifier: (text: string) => text.trim().toLowerCase(),
    curve: (text: string) => catalog.canonicalCurve(text),
    provider: (text: string) => catalog.canonicalProvider(text),
    proving_scheme: (text: string) => catalog.canonicalScheme(text),
  };
  for (const [name, canonical] of Object.entries(texts) as [keyof typeof texts, (text: string) => string][]) {
    const text = said[name];
    if (typeof text === "string" && canonical(text) !== prover[name])
      throw invalidMember(name, `${name}: the prover's is ${prover[name]}`);
  }
  for (const [name, own] of Object.entries(IDS) as [keyof typeof IDS, "id" | "vault_id"][]) {
    const id = said[name];
    if (typeof id === "string" && id !== prover[own])
      throw invalidMember(name, `${name}: the prover's is ${prover[own]}`);
  }
  requireSaidStores(said, prover, hasStore);
}

/**
 * Checks the ids that a body says of another's prover: they are those of the caller's own things for it, so that no
 * answer tells the owner's. Returns the rest of what is said.
 * @param place absent before the caller's first proof
 * @throws AppError `not_found` naming the member
 */
export function requireSaidPlace(said: SaidProver, place: Place | undefined): SaidProver {
  for (const [name, what] of Object.entries(PLACE_IDS) as [keyof typeof PLACE_IDS, string][]) {
    const id = said[name];
    const own = place?.[name === "store_id" ? "note_store_id" : name];
    if (typeof id === "string" && id !== own) throw missingReference(name, what);
  }
  const { vault_id: _vault, store_id: _store, note_store_id: _notes, nullifier_store_id: _nullifiers, ...rest } = said;
  return rest;
}

function requireSaidStores(said: SaidProver, prover: Prover, hasStore: (id: string) => boolean): void {
  for (const [name, what] of Object.entries(STORES) as [keyof typeof STORES, string][]) {
    const id = said[name];
    const own = name === "nullifier_store_id" ? prover.nullifier_store_id : prover.note_store_id;
    if (typeof id !== "string" || id === own) continue;
    if (!hasStore(id)) throw missingReference(name, "store");
    throw invalidMember(name, `${name}: the prover's ${what} is ${own}`);
  }
}

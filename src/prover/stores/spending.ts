/**
 * What a proof spends: the nullifier that it names, and the note that it replaces. Decides who may spend, and in whose
 * store: a nullifier goes into the store of the prover's owner, whoever spends it, so that it is spent once for the
 * whole prover; the key of a note goes into the store of the note's owner.
 */
import { AppError, invalidMember } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import { missingReference } from "../../platform/references.js";
import { isElement } from "../../engine/merkle/tree-hasher.js";
import type { Catalog } from "../catalog.js";
import { noteNullifier, statementNullifier } from "../proofs/public-inputs.js";
import type { BuiltProver } from "../providers/provider.js";
import type { StoredProver } from "../repository.js";
import type { Places } from "../sharing/places.js";
import type { Admission, ProverAccess } from "../sharing/prover-access.js";
import type { PendingSpend, SpentKey } from "./pending-append.js";
import { unknownSignal } from "./unknown-signal.js";
import type { ProofStores } from "./proof-stores.js";

/** What a request says that its proof spends. */
export interface Spends {
  /** Name of a public signal; true for the prover's own nullifier, false for none. */
  readonly nullifier?: string | boolean | undefined;
  /** Index of a note. */
  readonly spends?: number | undefined;
}

/** The same, with what the request may do, and who is told. */
export interface SpendRequest extends Spends {
  readonly mayCreate: boolean;
  /** Called once it is on disk. */
  readonly onSpent?: (spent: readonly SpentKey[]) => void;
}

/** A checked request: what will be spent when the proof is valid. */
export interface SpendPlan {
  /** Place among the public signals, or the statement's own key. */
  readonly signal: number | "statement" | undefined;
  readonly note: PendingSpend["note"] | undefined;
}

interface SpendingDependencies {
  readonly stores: ProofStores;
  readonly access: Pick<ProverAccess, "find">;
  readonly places: Pick<Places, "find">;
  readonly catalog: Pick<Catalog, "providerOf">;
}

export class Spending {
  readonly #with: SpendingDependencies;

  constructor(dependencies: SpendingDependencies) {
    this.#with = dependencies;
  }

  /**
   * Checks what a request wants spent; undefined when nothing is.
   * @param options.isVerified a proof that is verified spends the prover's own nullifier unless it says otherwise
   * @throws AppError `forbidden` for who may not spend, `invalid_request` for a signal that cannot be spent,
   *   `not_found` for a note that is not there, `note_double_spend` for one that is spent
   */
  async plan(
    caller: Subject,
    { prover, isOwner }: Pick<Admission, "prover" | "isOwner">,
    request: SpendRequest,
    { built, isVerified }: { readonly built: BuiltProver; readonly isVerified: boolean },
  ): Promise<SpendPlan | undefined> {
    const own = prover.nullifier ?? undefined;
    const said = request.nullifier ?? (isVerified ? own : undefined);
    const nullifier = said === false ? undefined : said;
    if (nullifier === undefined && request.spends === undefined) return undefined;
    this.#requireRight(caller, prover, request);
    const wanted = nullifier === true ? (own ?? true) : nullifier;
    if (typeof wanted === "string" && wanted !== own) {
      if (own !== undefined) {
        const what = own === true ? "the statement, which is `true`" : `the signal ${own}`;
        throw invalidMember("nullifier", `nullifier: proofs of this prover spend ${what}`);
      }
      // Whoever may choose the signal may choose one whose value the proof leaves open, and spend what is another's.
      if (!isOwner)
        throw new AppError("forbidden", {
          message: "nullifier: the owner of this prover has not named this signal as its nullifier",
        });
    }
    return {
      signal:
        wanted === true ? "statement" : wanted === undefined ? undefined : await this.#place(prover, wanted, built),
      note: request.spends === undefined ? undefined : this.#note(caller, { prover, isOwner }, request.spends),
    };
  }

  /**
   * Returns what a valid proof spends by its plan.
   * @throws AppError `invalid_request` for a value that no key of the store can be
   */
  spendsOf(
    plan: SpendPlan | undefined,
    caller: Subject,
    proven: {
      readonly admission: Pick<Admission, "prover" | "isOwner">;
      readonly publicSignals: readonly string[];
      readonly statementHash: string;
    },
  ): PendingSpend[] {
    if (plan === undefined) return [];
    const { prover, isOwner } = proven.admission;
    const proverId = prover.id;
    const value = statementNullifier(proven.statementHash);
    const spends: PendingSpend[] = [];
    if (plan.signal !== undefined) {
      const store = { owner: prover.build.owner, id: prover.nullifier_store_id };
      const key = plan.signal === "statement" ? value : elementOf(proven.publicSignals[plan.signal]);
      const curve = this.#with.stores.find(store)?.value.curve;
      if (curve !== undefined && !isElement(key, curve))
        throw invalidMember("nullifier", `nullifier: the signal's value is no element of ${curve}'s scalar field`);
      spends.push({ store, proverId, key, value });
    }
    if (plan.note !== undefined) {
      const id = isOwner
        ? prover.nullifier_store_id
        : this.#with.places.find(caller, proverId)?.value.nullifier_store_id;
      if (id === undefined) throw missingReference("spends", "note");
      spends.push({
        store: { owner: caller, id },
        proverId,
        key: noteNullifier(plan.note.ciphertext),
        value,
        note: plan.note,
      });
    }
    return spends;
  }

  #requireRight(caller: Subject, prover: StoredProver, { mayCreate }: SpendRequest): void {
    const advice = "; `nullifier: false` verifies without spending";
    if (!mayCreate)
      throw new AppError("forbidden", {
        message: `what a proof spends is written, which needs the permission create${advice}`,
      });
    if (this.#with.access.find(caller, prover.id, "prove") === undefined)
      throw new AppError("forbidden", { message: `this prover is shared for verification, without spending${advice}` });
  }

  async #place(prover: StoredProver, name: string, built: BuiltProver): Promise<number> {
    const names = await this.#with.catalog.providerOf(prover).publicNames(built);
    const place = names.indexOf(name);
    if (place < 0) throw invalidMember("nullifier", unknownSignal(name, names));
    return place;
  }

  #note(
    caller: Subject,
    { prover, isOwner }: Pick<Admission, "prover" | "isOwner">,
    index: number,
  ): NonNullable<PendingSpend["note"]> {
    const id = isOwner ? prover.note_store_id : this.#with.places.find(caller, prover.id)?.value.note_store_id;
    const note = id === undefined ? undefined : this.#with.stores.readNote(caller, id, index);
    if (id === undefined || note === undefined) throw missingReference("spends", "note");
    const store = { owner: caller, id };
    if (this.#with.stores.isNoteSpent(store, index))
      throw new AppError("note_double_spend", { message: "this note was spent before; a note is spent once" });
    return { store, index, ciphertext: note.ciphertext };
  }
}

/** @param decimal a canonical public signal */
function elementOf(decimal: string | undefined): string {
  return BigInt(decimal ?? "0")
    .toString(16)
    .padStart(64, "0");
}

/**
 * Who may use a prover: its owner, and those to whom it is shared. Whoever may not is answered as if it did not exist.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { AppError, notFound } from "../../platform/errors.js";
import type { StoreCheck, StoreRecord } from "../../platform/store/store.js";
import type { ProverRepository, StoredProver } from "../repository.js";
import type { Right, StoredGrant } from "./grants.js";

/** A prover and by what right the caller uses it. */
export interface Admission {
  readonly prover: StoredProver;
  readonly isOwner: boolean;
  /**
   * Returns the checks of a commit that needs the right; called for each try.
   * @throws AppError `not_found` once the right has ended, `forbidden` once only that to verify is left
   */
  readonly checks: () => readonly StoreCheck[];
  /** @throws AppError as `checks`, once another's right has ended */
  readonly requireStill: () => void;
}

interface Held {
  readonly prover: StoreRecord<StoredProver>;
  /** Absent for the owner. */
  readonly grant?: StoreRecord<StoredGrant>;
}

/** Files that others may download: what everybody needs to verify, and what the inputs are. */
const SHARED_ARTIFACTS: Readonly<Partial<Record<string, Right>>> = {
  "verifying_key.json": "verify",
  "verifier.sol": "verify",
  "verifier_caller.sol": "verify",
  "interface.json": "prove",
};

export class ProverAccess {
  readonly #repository: ProverRepository;

  constructor(dependencies: { readonly repository: ProverRepository }) {
    this.#repository = dependencies.repository;
  }

  /**
   * @throws AppError `not_found` when the caller may not use the prover at all, `forbidden` when it may verify only
   */
  require(caller: Subject, id: string, right: Right): Admission {
    const held = (): Held => {
      const found = this.#find(caller, id, right);
      if (found !== undefined) return found;
      if (this.#find(caller, id, "verify") === undefined) throw notFound("prover");
      throw new AppError("forbidden", { message: "this prover is shared for verification only" });
    };
    const { prover, grant } = held();
    return {
      prover: prover.value,
      isOwner: grant === undefined,
      checks: () => {
        const now = held();
        const records = now.grant === undefined ? [now.prover] : [now.prover, now.grant];
        return records.map(({ key, version }) => ({ key, version }));
      },
      requireStill: () => {
        if (grant !== undefined) held();
      },
    };
  }

  /** Returns the prover if the caller may use it so. */
  find(caller: Subject, id: string, right: Right): StoredProver | undefined {
    return this.#find(caller, id, right)?.prover.value;
  }

  /** Returns what the caller may do with another's prover. */
  rights(caller: Subject, id: string): Right[] {
    return (["verify", "prove"] as const).filter((right) => this.#find(caller, id, right)?.grant !== undefined);
  }

  /**
   * Returns the prover and which of its files the caller may download.
   * @throws AppError `not_found` when the caller may not even verify
   */
  files(caller: Subject, id: string): { readonly prover: StoredProver; readonly mayRead: (name: string) => boolean } {
    const { prover, isOwner } = this.require(caller, id, "verify");
    const mayProve = isOwner || this.#find(caller, id, "prove") !== undefined;
    return {
      prover,
      mayRead: (name) => {
        const needed = SHARED_ARTIFACTS[name];
        return isOwner || needed === "verify" || (needed === "prove" && mayProve);
      },
    };
  }

  #find(caller: Subject, id: string, right: Right): Held | undefined {
    const own = this.#repository.find(caller, id);
    if (own !== undefined) return { prover: own };
    for (const grantee of [caller, "anyone"] as const) {
      const grant = this.#repository.grants.find(grantee, id);
      if (grant === undefined || (right === "prove" && grant.value.may !== "prove")) continue;
      const prover = this.#repository.find(grant.value.owner, id);
      if (prover !== undefined) return { prover, grant };
    }
    return undefined;
  }
}

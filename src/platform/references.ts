/**
 * Ids in bodies that name another record, such as the `network_id` of an application. What they name must exist for the
 * caller, in whichever area it is: each area provides the look-ups of its own kinds of things.
 */
import type { Subject } from "./auth/principal.js";
import { AppError, assert } from "./errors.js";

/** Kinds of things that a body may name, as messages call them. */
export type ReferenceKind = "network" | "contract" | "application" | "organization" | "user" | "vault";

/** Finds a thing for a subject. Throws `not_found` where it does not exist for that subject. */
export type FindReference = (subject: Subject, id: string) => unknown;

/** Members whose name does not say what they name. */
const KIND_OF_MEMBER: Readonly<Record<string, ReferenceKind>> = {
  network_id: "network",
  destination_network_id: "network",
  sidechain_id: "network",
  contract_id: "contract",
  sale_contract_id: "contract",
};

export type ReferenceMember = keyof typeof KIND_OF_MEMBER;

export class References {
  readonly #finders = new Map<ReferenceKind, FindReference>();

  /** Sets the look-up of a kind of thing, once: an area does it while it is built, before there are requests. */
  provide(kind: ReferenceKind, find: FindReference): void {
    assert(!this.#finders.has(kind), `one area provides each kind of thing, and ${kind} twice`);
    this.#finders.set(kind, find);
  }

  /**
   * Requires that what the body names exists for the subject. Members that are absent or null name nothing.
   * @throws not_found, naming the member
   */
  require(subject: Subject, body: Readonly<Record<string, unknown>>, members: readonly ReferenceMember[]): void {
    for (const member of members) {
      const id = body[member];
      if (id === undefined || id === null) continue;
      const kind = KIND_OF_MEMBER[member];
      const find = kind === undefined ? undefined : this.#finders.get(kind);
      assert(kind !== undefined && find !== undefined && typeof id === "string", `${member} names a thing by its id`);
      try {
        find(subject, id);
      } catch (error) {
        if (error instanceof AppError && error.code === "not_found") throw missingReference(member, kind, error);
        throw error;
      }
    }
  }
}

/** Returns the 404 for a body whose member names something that does not exist for the caller. */
export function missingReference(member: string, what: string, cause?: unknown): AppError {
  const message = `${member}: ${what} not found`;
  return new AppError("not_found", { message, details: [{ message, code: "not_found", path: member }], cause });
}

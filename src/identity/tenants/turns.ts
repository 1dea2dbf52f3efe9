/**
 * Who answers for work, and so takes turns for it: a person with a hundred applications is one in every queue. The work
 * of an application is that of the organization to which it belongs, or of the user who made it; users and
 * organizations answer for themselves. An organization's founder does not: colleagues would wait for private work.
 */
import { LRUCache } from "lru-cache";
import { formatSubject, parseSubject, type Subject } from "../../platform/auth/principal.js";
import type { TenantRepository } from "./tenant-repository.js";

const KEPT_MAX = 10_000;
/** How long a change of an application's organization may go unnoticed. */
const KEPT_MS = 60_000;

export class Turns {
  readonly #tenants: Pick<TenantRepository, "applications">;
  /** A cache: the store says it again. */
  readonly #kept = new LRUCache<string, string>({ max: KEPT_MAX, ttl: KEPT_MS });

  constructor(dependencies: { readonly tenants: Pick<TenantRepository, "applications"> }) {
    this.#tenants = dependencies.tenants;
  }

  /** Returns the name under which the work of a subject waits for its turn. */
  of(subject: Subject): string {
    const name = formatSubject(subject);
    if (subject.kind !== "application") return name;
    const kept = this.#kept.get(name);
    if (kept !== undefined) return kept;
    const record = this.#tenants.applications.get([subject.id])?.value;
    const accountable =
      record === undefined
        ? name
        : record.organization_id !== null
          ? formatSubject({ kind: "organization", id: record.organization_id })
          : record.user_id !== null
            ? formatSubject({ kind: "user", id: record.user_id })
            : name;
    this.#kept.set(name, accountable);
    return accountable;
  }

  /** The same for a subject as `formatSubject` writes it; another name takes its own turns. */
  ofName(name: string): string {
    const kept = this.#kept.get(name);
    if (kept !== undefined) return kept;
    const subject = parseSubject(name);
    return subject === undefined ? name : this.of(subject);
  }
}

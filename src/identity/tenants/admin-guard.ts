/**
 * Keeps every application and organization with a member that can let others in: whatever would take the last one away
 * is refused, and the commit that takes another away is pinned to the one that stays, so that two of them at once
 * cannot both pass.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import { AppError } from "../../platform/errors.js";
import { StoreConflict, type StoreCommit } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import type { Member, MembershipRecord, Tenant, TenantRepository } from "./tenant-repository.js";

/** Members read in one turn of the event loop, some milliseconds. Those who can grant joined early as a rule. */
const MEMBERS_AT_ONCE = 500;

export class AdminGuard {
  readonly #tenants: TenantRepository;

  constructor(dependencies: { readonly tenants: TenantRepository }) {
    this.#tenants = dependencies.tenants;
  }

  /**
   * The part of a commit that holds the leaving of a member, or of its right to grant, to another that can grant.
   * Throws `last_granter` when there is none.
   */
  async requireAnotherAdmin(tenant: Tenant, leaving: Member): Promise<StoreCommit> {
    return this.#pinned(tenant, await this.#another(tenant, leaving));
  }

  async #another(tenant: Tenant, leaving: Member): Promise<Member | undefined> {
    const membership = this.#tenants.findMembership(tenant, leaving)?.value;
    // A tenant that is going needs nobody any more.
    if (membership === undefined || !canGrant(membership) || this.#tenants.liveCheck(tenant) === undefined)
      return undefined;
    for (let page = 1; ; page += 1) {
      const rows = this.#tenants.pageOfMembers(tenant, { page, rpp: MEMBERS_AT_ONCE });
      const found = rows
        .map(memberOf)
        .find((member) => !isSame(member, leaving) && this.#granterCheck(tenant, member) !== undefined);
      if (found !== undefined) return found;
      if (rows.length < MEMBERS_AT_ONCE) throw lastGranter(tenant);
      await nextTurn();
    }
  }

  #pinned(tenant: Tenant, stays: Member | undefined): StoreCommit {
    if (stays === undefined) return {};
    const check = this.#granterCheck(tenant, stays);
    // It left since it was found: to be decided anew.
    if (check === undefined) throw new StoreConflict([tenant.kind, tenant.id]);
    return check;
  }

  /** Undefined for whoever cannot grant, or is being deleted. */
  #granterCheck(tenant: Tenant, member: Member): StoreCommit | undefined {
    const membership = this.#tenants.findMembership(tenant, member);
    if (membership === undefined || !canGrant(membership.value)) return undefined;
    const live = this.#tenants.liveCheck(member);
    return live === undefined
      ? undefined
      : mergeCommits(live, { checks: [{ key: membership.key, version: membership.version }] });
  }
}

function canGrant({ permissions }: MembershipRecord): boolean {
  return holdsAll(permissions, PERMISSIONS.grant);
}

function memberOf({ member_kind: kind, member_id: id }: MembershipRecord): Member {
  return { kind, id };
}

function isSame(one: Member, other: Member): boolean {
  return one.kind === other.kind && one.id === other.id;
}

function lastGranter({ kind, id }: Tenant): AppError {
  return new AppError("last_granter", {
    message: `the ${kind} ${id} has no other member that can grant; let another one grant first, or delete the ${kind}`,
  });
}

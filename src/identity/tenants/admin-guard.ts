/**
 * Answers whether an application or organization still has a member that can grant access once another one leaves. The
 * last such member cannot leave; the commit by which another leaves checks the one that stays, so that two that leave
 * at once cannot both succeed.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import { AppError } from "../../platform/errors.js";
import { StoreConflict, type StoreCommit } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import type { Member, MembershipRecord, Tenant, TenantRepository } from "./tenant-repository.js";

/** Read in one turn of the event loop, which takes some milliseconds. Members that can grant usually joined early. */
const MEMBERS_PER_TURN = 500;

export class AdminGuard {
  readonly #tenants: TenantRepository;

  constructor(dependencies: { readonly tenants: TenantRepository }) {
    this.#tenants = dependencies.tenants;
  }

  /**
   * Returns the checks of a commit by which a member leaves or loses its right to grant: another member that can grant
   * must still be there.
   * @throws last_granter when there is no other one
   */
  async requireAnotherAdmin(tenant: Tenant, leaving: Member): Promise<StoreCommit> {
    const other = await this.#findAnother(tenant, leaving);
    if (other === undefined) return {};
    const check = this.#adminCheck(tenant, other);
    // It left since it was found, so that the caller must decide anew.
    if (check === undefined) throw new StoreConflict([tenant.kind, tenant.id]);
    return check;
  }

  /** Another member that can grant; undefined when none is needed. */
  async #findAnother(tenant: Tenant, leaving: Member): Promise<Member | undefined> {
    const membership = this.#tenants.findMembership(tenant, leaving)?.value;
    // A tenant being deleted may be left without an administrator.
    if (membership === undefined || !canGrant(membership) || this.#tenants.liveCheck(tenant) === undefined)
      return undefined;
    for (let page = 1; ; page += 1) {
      const rows = this.#tenants.pageOfMembers(tenant, { page, rpp: MEMBERS_PER_TURN });
      const found = rows
        .map(memberOf)
        .find((member) => !isSame(member, leaving) && this.#adminCheck(tenant, member) !== undefined);
      if (found !== undefined) return found;
      if (rows.length < MEMBERS_PER_TURN) throw lastGranter(tenant);
      await nextTurn();
    }
  }

  /** The checks that a member can grant; undefined for one that cannot, or that is being deleted. */
  #adminCheck(tenant: Tenant, member: Member): StoreCommit | undefined {
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

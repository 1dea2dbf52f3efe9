/**
 * Answers which users a caller may see, and which users and organizations it may name as members. Whether a caller may
 * see an organization's own record is decided in `tenant-access.ts`.
 */
import { PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import type { Principal } from "../../platform/auth/principal.js";
import type { Page } from "../../platform/store/tables.js";
import { isNamed, pageOf, type NameFilter } from "../listing.js";
import type { IdentityRepository, UserRecord } from "../repository.js";
import type { Member, TenantRepository } from "./tenant-repository.js";

export interface DirectoryDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
}

export class Directory {
  readonly #repository: IdentityRepository;
  readonly #tenants: TenantRepository;

  constructor(dependencies: DirectoryDependencies) {
    this.#repository = dependencies.repository;
    this.#tenants = dependencies.tenants;
  }

  /** Returns a user that the caller may see: itself, a fellow member, or anyone for `user_list` and `sudo`. */
  findUser(principal: Principal, userId: string): UserRecord | undefined {
    return this.#canSee(principal, { kind: "user", id: userId }) ? this.#repository.findUser(userId)?.value : undefined;
  }

  /** Returns true for a user or organization that exists and that the caller may see, and so may name as a member. */
  isVisible(principal: Principal, member: Member): boolean {
    if (this.#repository.findState(member)?.value.enabled !== true) return false;
    // A token of a tenant may also name what the user on whose behalf it acts may name.
    return (
      this.#canSee(principal, member) ||
      (principal.actingUserId !== undefined && this.#userSees(principal.actingUserId, member))
    );
  }

  /**
   * Returns a page of the users that the caller may see, oldest first: all for `user_list` or `sudo`; for a user itself
   * and the members of its organizations; for an application or organization its members.
   * @param filters.email as `normalizeEmail` returns it; only the user with this address
   * @param filters.name only users with this first and last name
   */
  listUsers(
    principal: Principal,
    page: Page,
    { email, name }: NameFilter & { readonly email: string | undefined },
  ): { readonly rows: UserRecord[]; readonly total: number } {
    const hasName = (user: UserRecord): boolean => isNamed({ name: `${user.first_name} ${user.last_name}` }, name);
    if (seesAllUsers(principal)) {
      if (email === undefined) return this.#repository.listUsers(page, name === undefined ? undefined : hasName);
      const found = this.#repository.findUserByEmail(email)?.value;
      return pageOf(found !== undefined && hasName(found) ? [found] : [], page);
    }
    const users = this.#visibleUserIds(principal).flatMap((id) => this.#repository.findUser(id)?.value ?? []);
    return pageOf(
      users.filter((user) => (email === undefined || user.email === email) && hasName(user)),
      page,
    );
  }

  #visibleUserIds(principal: Principal): string[] {
    const { subject } = principal;
    if (subject.kind !== "user")
      return this.#tenants
        .listMembers({ kind: subject.kind, id: subject.id }, "user")
        .rows.map(({ member_id: id }) => id);
    const ids = new Set([subject.id]);
    for (const membership of this.#tenants.listMemberships({ kind: "user", id: subject.id }, "organization")) {
      if (!holdsAll(membership.permissions, PERMISSIONS.read)) continue;
      for (const fellow of this.#tenants.listMembers({ kind: "organization", id: membership.tenant_id }, "user").rows)
        ids.add(fellow.member_id);
    }
    return [...ids];
  }

  #canSee(principal: Principal, member: Member): boolean {
    const { subject } = principal;
    if (subject.kind === member.kind && subject.id === member.id) return true;
    if (holdsAll(principal.permissions, PERMISSIONS.sudo) || (member.kind === "user" && seesAllUsers(principal)))
      return true;
    if (subject.kind === "user") return this.#userSees(subject.id, member);
    return this.#tenants.findMembership({ kind: subject.kind, id: subject.id }, member) !== undefined;
  }

  /** A user sees itself, the organizations where it may read, and the members of tenants where it may read. */
  #userSees(userId: string, member: Member): boolean {
    const user: Member = { kind: "user", id: userId };
    if (member.kind === "user" && member.id === userId) return true;
    const readable = (["organization", "application"] as const).flatMap((kind) =>
      this.#tenants
        .listMemberships(user, kind)
        .filter(({ permissions }) => holdsAll(permissions, PERMISSIONS.read))
        .map(({ tenant_id: id }) => ({ kind, id })),
    );
    if (member.kind === "organization" && readable.some(({ kind, id }) => kind === "organization" && id === member.id))
      return true;
    return readable.some((tenant) => this.#tenants.findMembership(tenant, member) !== undefined);
  }
}

function seesAllUsers(principal: Principal): boolean {
  return holdsAll(principal.permissions, PERMISSIONS.user_list) || holdsAll(principal.permissions, PERMISSIONS.sudo);
}

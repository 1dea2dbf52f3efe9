/** Who may know of whom: which users and organizations a caller can see, and therefore name in a request. */
import { PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import type { Principal } from "../../platform/auth/principal.js";
import type { Page } from "../../platform/store/tables.js";
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

  /** The user, if the caller may see it: itself, a fellow member, or anyone for `user_list` and `sudo`. */
  findUser(principal: Principal, userId: string): UserRecord | undefined {
    return this.#canSee(principal, { kind: "user", id: userId }) ? this.#repository.findUser(userId)?.value : undefined;
  }

  /** True for a user or organization that exists and that the caller may see. */
  isVisible(principal: Principal, member: Member): boolean {
    if (this.#repository.findState(member)?.value.enabled !== true) return false;
    // What its acting user could name itself, a token may name for it.
    return (
      this.#canSee(principal, member) ||
      (principal.actingUserId !== undefined && this.#userSees(principal.actingUserId, member))
    );
  }

  /**
   * Users in the caller's scope, oldest first: all for `user_list` or `sudo`; for a user itself and the members of its
   * organizations; for an application or organization its members.
   */
  listUsers(
    principal: Principal,
    page: Page,
    email: string | undefined,
  ): { readonly rows: UserRecord[]; readonly total: number } {
    if (seesAllUsers(principal)) {
      if (email === undefined) return this.#repository.listUsers(page);
      const found = this.#repository.findUserByEmail(email)?.value;
      return onPage(found === undefined ? [] : [found], page);
    }
    const users = this.#visibleUserIds(principal).flatMap((id) => this.#repository.findUser(id)?.value ?? []);
    const kept = email === undefined ? users : users.filter((user) => user.email === email);
    return onPage(
      kept.sort((a, b) => (a.created_at + a.id < b.created_at + b.id ? -1 : 1)),
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

  /** A user sees itself, the organizations and applications where it may read, and their members. */
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

export function seesAllUsers(principal: Principal): boolean {
  return holdsAll(principal.permissions, PERMISSIONS.user_list) || holdsAll(principal.permissions, PERMISSIONS.sudo);
}

/** One page of rows that are at hand. */
export function onPage<T>(rows: readonly T[], page: Page): { readonly rows: T[]; readonly total: number } {
  const from = (page.page - 1) * page.rpp;
  return { rows: rows.slice(from, from + page.rpp), total: rows.length };
}

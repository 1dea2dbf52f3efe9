/**
 * Where applications, organizations and their memberships are kept: record shapes, reads, and the parts of commits.
 * Decides nothing and never commits; IdentityRepository does that, so that the token cache hears of it.
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { Store, StoreCommit, StoreKey, StoreRecord, StoreValue } from "../../platform/store/store.js";
import { defineTable, type Listing, type Page, type Table } from "../../platform/store/tables.js";
import type { SubjectState } from "../repository.js";

/** What has members: an application or an organization. */
export interface Tenant extends Subject {
  readonly kind: "application" | "organization";
}

/** What can be a member: a user, or an organization of an application. */
export interface Member extends Subject {
  readonly kind: "user" | "organization";
}

type JsonObject = { readonly [member: string]: StoreValue | undefined };

/** The application as stored; types, not interfaces, so that they are StoreValues. */
export type ApplicationRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly name: string;
  readonly description: string | null;
  readonly type: string | null;
  readonly network_id: string | null;
  /** Who organized it; for the record, grants nothing. */
  readonly user_id: string | null;
  readonly organization_id: string | null;
  readonly config: JsonObject;
  readonly hidden: boolean;
};

export type OrganizationRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly name: string;
  readonly description: string | null;
  /** Who founded it; for the record, grants nothing. */
  readonly user_id: string | null;
  readonly metadata: JsonObject | null;
};

/** One entry of the access list of an application or organization. */
export type MembershipRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly tenant_kind: Tenant["kind"];
  readonly tenant_id: string;
  readonly member_kind: Member["kind"];
  readonly member_id: string;
  readonly permissions: number;
};

export class TenantRepository {
  readonly #store: Store;
  readonly applications: Table<ApplicationRecord, "all", never>;
  readonly organizations: Table<OrganizationRecord, "all", never>;
  readonly #memberships: Table<MembershipRecord, "tenant" | "member", never>;

  constructor(dependencies: { readonly store: Store }) {
    this.#store = dependencies.store;
    this.applications = defineTable(
      { name: "application", key: (row) => [row.id], indexes: { all: () => [] } },
      dependencies,
    );
    this.organizations = defineTable(
      { name: "organization", key: (row) => [row.id], indexes: { all: () => [] } },
      dependencies,
    );
    this.#memberships = defineTable(
      {
        name: "membership",
        key: (row) => [row.tenant_kind, row.tenant_id, row.member_kind, row.member_id],
        indexes: {
          tenant: (row) => [row.tenant_kind, row.tenant_id, row.member_kind],
          member: (row) => [row.member_kind, row.member_id, row.tenant_kind],
        },
      },
      dependencies,
    );
  }

  findMembership(tenant: Tenant, member: Member): StoreRecord<MembershipRecord> | undefined {
    return this.#memberships.get([...ownerKey(tenant), ...ownerKey(member)]);
  }

  /** Members of one kind, by the time they joined. */
  listMembers(tenant: Tenant, kind: Member["kind"], page?: Page): Listing<MembershipRecord> {
    return this.#memberships.list("tenant", [...ownerKey(tenant), kind], page === undefined ? {} : { page });
  }

  /** Members of any kind: organizations first, each kind by the time they joined. */
  pageOfMembers(tenant: Tenant, page: Page): MembershipRecord[] {
    return this.#memberships.records("tenant", ownerKey(tenant), page).map(({ value }) => value);
  }

  countMembers(tenant: Tenant): number {
    return this.#memberships.count("tenant", ownerKey(tenant));
  }

  /** The memberships of a user or organization in tenants of one kind. */
  listMemberships(member: Member, kind: Tenant["kind"]): MembershipRecord[] {
    return this.#memberships.list("member", [...ownerKey(member), kind]).rows;
  }

  countMemberships(member: Member, kind: Tenant["kind"]): number {
    return this.#memberships.count("member", [...ownerKey(member), kind]);
  }

  /** Some memberships of a tenant or of a member, to be taken away. */
  someMemberships(of: "tenant" | "member", subject: Subject, count: number): StoreRecord<MembershipRecord>[] {
    return this.#memberships.records(of, ownerKey(subject), { page: 1, rpp: count });
  }

  insertMembershipCommit(membership: MembershipRecord): StoreCommit {
    return this.#memberships.insertCommit(membership);
  }

  updateMembershipCommit(current: StoreRecord<MembershipRecord>, permissions: number): StoreCommit {
    return this.#memberships.updateCommit(current, { ...current.value, permissions });
  }

  deleteMembershipCommit(current: StoreRecord<MembershipRecord>): StoreCommit {
    return this.#memberships.deleteCommit(current);
  }

  /** The state record that every tenant has beside its own, from which its tokens live. */
  createStateCommit(tenant: Tenant): StoreCommit {
    const state: SubjectState = { enabled: true, epoch: 1 };
    const key: StoreKey = ["subject_state", ...ownerKey(tenant)];
    return { checks: [{ key, version: "absent" }], puts: [{ key, value: state }] };
  }

  /** Holds a commit to a tenant that is there and not being deleted; undefined when it is not. */
  liveCheck(subject: Subject): StoreCommit | undefined {
    const state = this.#store.get<SubjectState>(["subject_state", ...ownerKey(subject)]);
    return state?.value.enabled === true ? { checks: [{ key: state.key, version: state.version }] } : undefined;
  }

  /** Everything that is left of a tenant once its members are gone. */
  deleteTenantCommit(tenant: Tenant): StoreCommit {
    const record =
      tenant.kind === "application" ? this.applications.get([tenant.id]) : this.organizations.get([tenant.id]);
    const state: StoreKey = ["subject_state", ...ownerKey(tenant)];
    const own =
      record === undefined
        ? {}
        : tenant.kind === "application"
          ? this.applications.deleteCommit(record as StoreRecord<ApplicationRecord>)
          : this.organizations.deleteCommit(record as StoreRecord<OrganizationRecord>);
    return mergeCommits(own, { deletes: [state] });
  }
}

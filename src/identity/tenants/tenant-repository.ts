/**
 * The records of applications, organizations and their memberships: shapes, reads, and the parts of commits. Makes no
 * decisions and never commits; IdentityRepository commits, so that its revision changes and cached tokens are checked
 * anew.
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { Store, StoreCommit, StoreKey, StoreRecord, StoreValue } from "../../platform/store/store.js";
import { defineTable, type Listing, type Page, type Table } from "../../platform/store/tables.js";
import type { SubjectState } from "../repository.js";

/** A subject that has members: an application or an organization. */
export interface Tenant extends Subject {
  readonly kind: "application" | "organization";
}

/** A subject that can be a member: a user, or an organization of an application. */
export interface Member extends Subject {
  readonly kind: "user" | "organization";
}

/** The tenants that a request may name: an application, an organization, or an organization of an application. */
export interface NamedTenants {
  readonly application_id?: string;
  readonly organization_id?: string;
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
  /** The user who created it; kept as history, grants nothing. */
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
  /** The user who founded it; kept as history, grants nothing. */
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

/** Returns the tenant that a request is about: the organization where both are named. */
export function namedTenant(names: NamedTenants): Tenant | undefined {
  if (names.organization_id !== undefined) return { kind: "organization", id: names.organization_id };
  return names.application_id === undefined ? undefined : { kind: "application", id: names.application_id };
}

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

  /** Returns the entry of a member in a tenant's access list. */
  findMembership(tenant: Tenant, member: Member): StoreRecord<MembershipRecord> | undefined {
    return this.#memberships.get([...ownerKey(tenant), ...ownerKey(member)]);
  }

  /** Returns false when both an application and an organization are named and the one is not a member of the other. */
  areAssociated({ application_id: applicationId, organization_id: organizationId }: NamedTenants): boolean {
    if (applicationId === undefined || organizationId === undefined) return true;
    const application: Tenant = { kind: "application", id: applicationId };
    return this.findMembership(application, { kind: "organization", id: organizationId }) !== undefined;
  }

  /** Returns the members of one kind in the order in which they joined; all of them without a page. */
  listMembers(tenant: Tenant, kind: Member["kind"], page?: Page): Listing<MembershipRecord> {
    return this.#memberships.list("tenant", [...ownerKey(tenant), kind], page === undefined ? {} : { page });
  }

  /** Returns members of any kind: organizations first, each kind in the order in which they joined. */
  pageOfMembers(tenant: Tenant, page: Page): MembershipRecord[] {
    return this.#memberships.records("tenant", ownerKey(tenant), page).map(({ value }) => value);
  }

  /** Counts the members of a tenant. */
  countMembers(tenant: Tenant): number {
    return this.#memberships.count("tenant", ownerKey(tenant));
  }

  /** Returns the memberships of a user or organization in tenants of one kind. */
  listMemberships(member: Member, kind: Tenant["kind"]): MembershipRecord[] {
    return this.#memberships.list("member", [...ownerKey(member), kind]).rows;
  }

  /** Counts the memberships of a user or organization in tenants of one kind. */
  countMemberships(member: Member, kind: Tenant["kind"]): number {
    return this.#memberships.count("member", [...ownerKey(member), kind]);
  }

  /** Returns up to `count` memberships of a tenant or of a member, for deletion by batches. */
  someMemberships(of: "tenant" | "member", subject: Subject, count: number): StoreRecord<MembershipRecord>[] {
    return this.#memberships.records(of, ownerKey(subject), { page: 1, rpp: count });
  }

  /** Returns the commit of a new membership; it conflicts when there is one already. */
  insertMembershipCommit(membership: MembershipRecord): StoreCommit {
    return this.#memberships.insertCommit(membership);
  }

  /** Returns the commit that sets the permissions of a membership as read. */
  updateMembershipCommit(current: StoreRecord<MembershipRecord>, permissions: number): StoreCommit {
    return this.#memberships.updateCommit(current, { ...current.value, permissions });
  }

  /** Returns the commit that deletes a membership as read. */
  deleteMembershipCommit(current: StoreRecord<MembershipRecord>): StoreCommit {
    return this.#memberships.deleteCommit(current);
  }

  /** Returns the commit of the state record that every tenant has beside its own, and that its tokens depend on. */
  createStateCommit(tenant: Tenant): StoreCommit {
    const state: SubjectState = { enabled: true, epoch: 1 };
    const key: StoreKey = ["subject_state", ...ownerKey(tenant)];
    return { checks: [{ key, version: "absent" }], puts: [{ key, value: state }] };
  }

  /**
   * Returns a check that fails a commit once a subject is being deleted or its tokens were voided; undefined when the
   * subject does not exist or is being deleted.
   */
  liveCheck(subject: Subject): StoreCommit | undefined {
    const state = this.#store.get<SubjectState>(["subject_state", ...ownerKey(subject)]);
    return state?.value.enabled === true ? { checks: [{ key: state.key, version: state.version }] } : undefined;
  }

  /** Returns the commit that deletes the last records of a tenant; its memberships must be deleted before. */
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

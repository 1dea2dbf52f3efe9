/**
 * Organizations: founded by a user, who becomes the first member; a vault of their own comes with them while the vault
 * is unsealed.
 */
import { PERMISSIONS, TENANT_PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import { formatSubject, type Principal, type Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import { tenantNotFound, type TenantAccess } from "./tenant-access.js";
import { onPage } from "./directory.js";
import { organizationEvent } from "../identity-events.js";
import type { Memberships } from "./memberships.js";
import type { IdentityRepository } from "../repository.js";
import type { TenantDeletion } from "../subject-deletion.js";
import type { Member, OrganizationRecord, Tenant, TenantRepository } from "./tenant-repository.js";
import type { CreateOrganizationInput, OrganizationJson, UpdateOrganizationInput } from "./tenant-schemas.js";

/** What identity asks of the vault: the records of a first vault for a new owner, or undefined while it is sealed. */
export type FirstVault = (owner: Subject, name: string) => Promise<StoreCommit | undefined>;

export interface OrganizationsDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly access: TenantAccess;
  readonly memberships: Memberships;
  readonly deletion: TenantDeletion;
  readonly firstVault: FirstVault;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
  readonly log: Log;
}

export class Organizations {
  readonly #dependencies: OrganizationsDependencies;

  constructor(dependencies: OrganizationsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Founds an organization. A calling user becomes its first member with every permission on it; a calling application
   * is associated with it, and the user it acts for becomes the first member.
   * @param extra what goes into the same commit, given the organization's id (an invitation that is used up)
   */
  async create(
    principal: Principal,
    input: CreateOrganizationInput,
    extra?: (organization: Tenant & Member) => StoreCommit,
  ): Promise<OrganizationJson> {
    const { repository, tenants, memberships, firstVault, events, clock, log } = this.#dependencies;
    const userId = principal.subject.kind === "user" ? principal.subject.id : principal.actingUserId;
    if (userId === undefined)
      throw new AppError("forbidden", {
        message: "an organization is founded by a user, or by an application that acts for one",
      });
    const organization: OrganizationRecord = {
      id: newId(),
      created_at: isoTimestamp(clock.nowMs()),
      name: input.name,
      description: input.description ?? null,
      user_id: userId,
      metadata: metadataOf(input),
    };
    const tenant = { kind: "organization", id: organization.id } as const;
    const founder: Member = { kind: "user", id: userId };
    memberships.requireRoom(founder, "organization");
    const association = principal.subject.kind === "application" ? this.#association(principal, tenant) : {};
    const vault = await firstVault(tenant, `${input.name} vault`);
    await repository.commit(
      mergeCommits(
        tenants.organizations.insertCommit(organization),
        tenants.createStateCommit(tenant),
        tenants.insertMembershipCommit(memberships.newMembership(tenant, founder, TENANT_PERMISSIONS)),
        association,
        vault ?? {},
        extra?.(tenant) ?? {},
        events.commitOf([organizationEvent("created", principal, organization)]),
      ),
    );
    log.info("organization created", { subject: formatSubject(principal.subject), tenant: formatSubject(tenant) });
    return organization;
  }

  /**
   * Organizations of the caller, oldest first: a user's and an application's own, the organization itself, all for
   * `sudo`.
   */
  list(principal: Principal, page: Page): { body: OrganizationJson[]; total: number } {
    const { organizations } = this.#dependencies.tenants;
    if (holdsAll(principal.permissions, PERMISSIONS.sudo)) {
      const { rows, total } = organizations.list("all", [], { page });
      return { body: rows, total };
    }
    const visible = this.#idsFor(principal).flatMap((id) => organizations.get([id])?.value ?? []);
    const { rows, total } = onPage(
      visible.sort((a, b) => (a.created_at + a.id < b.created_at + b.id ? -1 : 1)),
      page,
    );
    return { body: rows, total };
  }

  get(principal: Principal, id: string): OrganizationJson {
    this.#dependencies.access.require(principal, { kind: "organization", id }, PERMISSIONS.read);
    return this.#found(id).value;
  }

  async update(principal: Principal, id: string, input: UpdateOrganizationInput): Promise<void> {
    const { access, repository, tenants, events } = this.#dependencies;
    await retryOnConflict(async () => {
      access.require(principal, { kind: "organization", id }, PERMISSIONS.update);
      const current = this.#found(id);
      const { name, description } = input;
      const next: OrganizationRecord = {
        ...current.value,
        ...(name === undefined ? {} : { name }),
        ...(description === undefined ? {} : { description }),
        ...(input.metadata === undefined ? {} : { metadata: metadataOf(input) }),
      };
      await repository.commit(
        mergeCommits(
          tenants.organizations.updateCommit(current, next),
          events.commitOf([organizationEvent("updated", principal, next)]),
        ),
      );
    });
  }

  /** Deletes an organization and what it alone owns. */
  async delete(principal: Principal, id: string): Promise<void> {
    const tenant: Tenant = { kind: "organization", id };
    this.#dependencies.access.require(principal, tenant, PERMISSIONS.delete);
    this.#found(id);
    await this.#dependencies.deletion.delete(tenant);
    this.#dependencies.log.info("organization deleted", {
      subject: formatSubject(principal.subject),
      tenant: formatSubject(tenant),
    });
  }

  #association(principal: Principal, organization: Member): StoreCommit {
    const { access, memberships } = this.#dependencies;
    const application: Tenant = { kind: "application", id: principal.subject.id };
    const held = access.require(principal, application, PERMISSIONS.grant);
    return memberships.foundingCommit(application, organization, held);
  }

  #idsFor({ subject }: Principal): string[] {
    const { tenants } = this.#dependencies;
    if (subject.kind === "organization") return [subject.id];
    if (subject.kind === "application")
      return tenants
        .listMembers({ kind: "application", id: subject.id }, "organization")
        .rows.map(({ member_id: id }) => id);
    return tenants
      .listMemberships({ kind: "user", id: subject.id }, "organization")
      .filter(({ permissions }) => holdsAll(permissions, PERMISSIONS.read))
      .map(({ tenant_id: id }) => id);
  }

  #found(id: string): NonNullable<ReturnType<TenantRepository["organizations"]["get"]>> {
    const found = this.#dependencies.tenants.organizations.get([id]);
    if (found === undefined) throw tenantNotFound("organization");
    return found;
  }
}

/** JSON as it came: the front has parsed it, so that it holds nothing but JSON values. */
function metadataOf(input: {
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}): OrganizationRecord["metadata"] {
  return (input.metadata ?? null) as OrganizationRecord["metadata"];
}

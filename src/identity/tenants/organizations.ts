/**
 * Organizations: founded by a user, who becomes the first member, with a vault of their own if the server's vault is
 * unsealed at that time.
 */
import { PERMISSIONS, TENANT_PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import { formatSubject, type Principal, type Subject } from "../../platform/auth/principal.js";
import { requireSaidOwner } from "../../platform/auth/said-owner.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { requireUnchanged, type SentBack } from "../../platform/contract/client-names.js";
import { AppError, invalidMember, notFound } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import { requireTenantBy, tenantNotFound, type TenantAccess } from "./tenant-access.js";
import { organizationEvent } from "../identity-events.js";
import { isNamed, pageOf, type NameFilter } from "../listing.js";
import { invitationInvalid, type Invitations } from "./invitations.js";
import type { Memberships } from "./memberships.js";
import type { IdentityRepository, UserRecord } from "../repository.js";
import type { SubjectDeletion } from "../subject-deletion.js";
import type { Member, OrganizationRecord, Tenant, TenantRepository } from "./tenant-repository.js";
import type {
  CreateOrganizationInput,
  JoinInput,
  OrganizationJson,
  UpdateOrganizationInput,
} from "./tenant-schemas.js";

/** Makes the records of a new owner's first vault in the vault area; undefined while the vault is sealed. */
export type FirstVault = (owner: Subject, name: string) => Promise<StoreCommit | undefined>;

export interface OrganizationsDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly access: TenantAccess;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly deletion: SubjectDeletion;
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
   * is associated with it, and the user on whose behalf it acts becomes the first member. With an invitation, the
   * organization joins the inviting application.
   * @param keep returns what else goes into the organization's commit, anew for each try
   * @throws forbidden without a user; not_found for another founder; invitation_invalid; conflict when a limit is
   *   reached
   */
  async create(
    principal: Principal,
    input: CreateOrganizationInput,
    keep?: (organization: OrganizationJson) => StoreCommit,
  ): Promise<OrganizationJson> {
    const { access, invitations } = this.#dependencies;
    const { invitation_token: token, ...rest } = input;
    requireSaidOwner(principal, input, requireTenantBy(access));
    const kept = keep ?? (() => ({}));
    if (token === undefined) return this.#create(principal, rest, kept);
    const user = this.#callingUser(principal);
    return retryOnConflict(() =>
      this.#create(principal, rest, (organization) => {
        const member = { kind: "organization", id: organization.id } as const;
        return mergeCommits(invitations.associateCommit(invitations.find(token), user, member), kept(organization));
      }),
    );
  }

  /** Creates the records of an organization; `alongside` is merged into the same commit. */
  async #create(
    principal: Principal,
    input: Omit<CreateOrganizationInput, "invitation_token">,
    alongside: (organization: OrganizationRecord) => StoreCommit,
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
        alongside(organization),
        events.commitOf([organizationEvent("created", principal, organization)]),
      ),
    );
    log.info("organization created", { subject: formatSubject(principal.subject), tenant: formatSubject(tenant) });
    return organization;
  }

  /**
   * Returns a page of the caller's organizations, oldest first: those where a user may read, those of an application,
   * the organization itself, or all for `sudo`.
   */
  list(principal: Principal, query: Page & NameFilter): { body: OrganizationJson[]; total: number } {
    const { organizations } = this.#dependencies.tenants;
    const filter = (row: OrganizationRecord): boolean => isNamed(row, query.name);
    if (holdsAll(principal.permissions, PERMISSIONS.sudo)) {
      const { rows, total } = organizations.list("all", [], {
        page: query,
        ...(query.name === undefined ? {} : { filter }),
      });
      return { body: rows, total };
    }
    const visible = this.#idsFor(principal).flatMap((id) => organizations.get([id])?.value ?? []);
    const { rows, total } = pageOf(visible.filter(filter), query);
    return { body: rows, total };
  }

  /**
   * Returns an organization where the caller may read. An application reads the records of its organizations, which its
   * lists show, and nothing else of them. Throws as `TenantAccess.require` does.
   */
  get(principal: Principal, id: string): OrganizationJson {
    const { access, tenants } = this.#dependencies;
    const { subject } = principal;
    const isOfApplication =
      subject.kind === "application" &&
      tenants.findMembership({ kind: "application", id: subject.id }, { kind: "organization", id }) !== undefined;
    if (!isOfApplication) access.require(principal, { kind: "organization", id }, PERMISSIONS.read);
    return this.#require(id).value;
  }

  /**
   * Changes the given members.
   * @param change.sentBack members of the record that cannot change, as the caller read them
   * @throws invalid_request for another founder; otherwise as `TenantAccess.require` does
   */
  async update(
    principal: Principal,
    id: string,
    change: { readonly input: UpdateOrganizationInput; readonly sentBack: SentBack },
  ): Promise<void> {
    const { input, sentBack } = change;
    const { access, repository, tenants, events } = this.#dependencies;
    await repository.commitCurrent(() => {
      access.require(principal, { kind: "organization", id }, PERMISSIONS.update);
      const current = this.#require(id);
      requireUnchanged(sentBack, current.value, ["id", "user_id"]);
      const { name, description } = input;
      const next: OrganizationRecord = {
        ...current.value,
        ...(name === undefined ? {} : { name }),
        ...(description === undefined ? {} : { description }),
        ...(input.metadata === undefined ? {} : { metadata: metadataOf(input) }),
      };
      return mergeCommits(
        tenants.organizations.updateCommit(current, next),
        events.commitOf([organizationEvent("updated", principal, next)]),
      );
    });
  }

  /**
   * Adds a user to an organization, or lets the calling user join by its invitation.
   * @throws invalid_request when neither a user nor an invitation is given; invitation_invalid; otherwise as
   *   `Memberships.add` does
   */
  async addUser(principal: Principal, id: string, input: JoinInput): Promise<void> {
    const { repository, memberships, invitations } = this.#dependencies;
    const { invitation_token: token, user_id: userId } = input;
    if (token === undefined) {
      if (userId === undefined) throw invalidMember("user_id", "user_id: is required");
      await memberships.add(principal, { kind: "organization", id }, { kind: "user", id: userId }, input.permissions);
      return;
    }
    const user = this.#callingUser(principal);
    if (userId !== undefined && userId !== user.id) throw notFound("user");
    await repository.commitCurrent(() => {
      const invitation = invitations.find(token);
      if (invitation.value.owner_kind !== "organization" || invitation.value.owner_id !== id) throw invitationInvalid();
      return invitations.acceptCommit(invitation, user, { isNew: false });
    });
  }

  /** Deletes an organization and everything that only it owns. Throws as `SubjectDeletion.deleteTenant` does. */
  async delete(principal: Principal, id: string): Promise<void> {
    const tenant: Tenant = { kind: "organization", id };
    this.#dependencies.access.require(principal, tenant, PERMISSIONS.delete);
    this.#require(id);
    await this.#dependencies.deletion.deleteTenant(tenant);
    this.#dependencies.log.info("organization deleted", {
      subject: formatSubject(principal.subject),
      tenant: formatSubject(tenant),
    });
  }

  #callingUser(principal: Principal): UserRecord {
    const { repository } = this.#dependencies;
    const user = principal.subject.kind === "user" ? repository.findUser(principal.subject.id)?.value : undefined;
    if (user === undefined) throw new AppError("forbidden", { message: "an invitation is accepted by a user" });
    return user;
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

  #require(id: string): NonNullable<ReturnType<TenantRepository["organizations"]["get"]>> {
    const found = this.#dependencies.tenants.organizations.get([id]);
    if (found === undefined) throw tenantNotFound("organization");
    return found;
  }
}

/** Takes the object as it came: it was parsed from JSON, so it holds only JSON values. */
function metadataOf(input: {
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}): OrganizationRecord["metadata"] {
  return (input.metadata ?? null) as OrganizationRecord["metadata"];
}

/**
 * Invitations by mail to an application, an organization or the service. Each is accepted once, by the user of the
 * address that it was sent to, within a day, and only while its sender may still grant. The token is in the mail and
 * nowhere else; the store keeps its hash.
 */
import { NEW_USER_PERMISSIONS, PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import { createOpaqueToken, opaqueTokenHash } from "../../platform/auth/opaque-token.js";
import {
  formatSubject,
  ownerKey,
  type Principal,
  type Subject,
  type SubjectKind,
} from "../../platform/auth/principal.js";
import { requireSaidOwner } from "../../platform/auth/said-owner.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, invalidMember, notFound } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import type { MailDriver } from "../../platform/mail/mail.js";
import type { Outbox } from "../../platform/mail/outbox.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";
import { defineTable, mergeCommits, retryOnConflict, type Page, type Table } from "../../platform/store/tables.js";
import { requireTenantBy, tenantNotFound, type TenantAccess } from "./tenant-access.js";
import { normalizeEmail } from "../users/email.js";
import type { HourlyLimits } from "../login/hourly-limit.js";
import { isNamed, type NameFilter } from "../listing.js";
import type { CreateInvitationInput, InvitationJson } from "./invitation-schemas.js";
import { invitationEvent } from "../identity-events.js";
import { invitationMail } from "../users/notification-mail.js";
import { defaultPermissions, type Memberships } from "./memberships.js";
import type { IdentityRepository, UserRecord } from "../repository.js";
import { namedTenant, type Member, type Tenant, type TenantRepository } from "./tenant-repository.js";
import { subjectThrottleKey } from "../login/throttle-keys.js";

export type InvitationRecord = {
  readonly id: string;
  readonly created_at: string;
  /** The application or organization invited to; the inviting user for an invitation to the service as such. */
  readonly owner_kind: SubjectKind;
  readonly owner_id: string;
  readonly email: string;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly permissions: number;
  readonly expires_at_ms: number;
  readonly token_hash: string;
  /** The inviting user; null when the application or organization invited by itself. */
  readonly inviter_id: string | null;
  /** True when the invited user is to found an organization that joins the application. */
  readonly for_organization: boolean;
};

export interface InvitationsDependencies {
  readonly store: Store;
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly access: TenantAccess;
  readonly memberships: Memberships;
  readonly limits: Pick<HourlyLimits, "invitation">;
  readonly mail: MailDriver;
  readonly outbox: Outbox;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
  readonly log: Log;
}

const LIFE_HOURS = 24;
const LIFE_MS = LIFE_HOURS * 3600 * 1000;
/** Pending invitations of one application, organization or user. */
const PENDING_MAX = 1_000;

export class Invitations {
  readonly #serviceUrl: string;
  readonly #dependencies: InvitationsDependencies;
  readonly #table: Table<InvitationRecord, "owner", "token" | "email" | "id">;

  constructor(options: { readonly serviceUrl: string }, dependencies: InvitationsDependencies) {
    this.#serviceUrl = options.serviceUrl;
    this.#dependencies = dependencies;
    this.#table = defineTable(
      {
        name: "invitation",
        key: (row) => [row.owner_kind, row.owner_id, row.id],
        indexes: { owner: (row) => [row.owner_kind, row.owner_id] },
        uniques: {
          token: (row) => [row.token_hash],
          email: (row) => [row.owner_kind, row.owner_id, row.email],
          id: (row) => [row.id],
        },
      },
      dependencies,
    );
  }

  /**
   * Sends an invitation; an earlier one of the same address to the same place becomes void. The result is the same
   * whether the address has an account or not.
   * @throws invalid_email; not_found for another `user_id`; not_found, forbidden or permission_escalation as
   *   `TenantAccess` does; conflict for a member
   *   or too many pending invitations; too_many_requests
   */
  async create(principal: Principal, input: CreateInvitationInput): Promise<InvitationJson> {
    const { limits, outbox, mail, log } = this.#dependencies;
    const email = normalizeEmail(input.email);
    if (email === undefined) throw invalidMember("email", "the e-mail address is not valid", "invalid_email");
    requireSaidOwner(principal, { user_id: input.user_id }, requireTenantBy(this.#dependencies.access));
    const place = this.#placeOf(principal, input);
    this.#requireNotMember(place.owner, email);
    await limits.invitation.count(subjectThrottleKey(principal.subject));
    const token = createOpaqueToken("invitation");
    const record = await retryOnConflict(() =>
      this.#insert(principal, input, { ...place, email, tokenHash: token.hash }),
    );
    const message = invitationMail({
      to: email,
      serviceUrl: this.#serviceUrl,
      token: token.text,
      hours: LIFE_HOURS,
      placeName: this.#nameOf(place.owner),
    });
    outbox.add(() => mail.send(message));
    log.info("invitation created", { subject: formatSubject(principal.subject), tenant: formatSubject(place.owner) });
    return invitationJson(record);
  }

  /**
   * Returns a page of pending invitations, oldest first.
   * @param tenant to this application or organization; undefined for the caller's own invitations to the service
   */
  list(
    principal: Principal,
    tenant: Tenant | undefined,
    query: Page & NameFilter,
  ): { body: InvitationJson[]; total: number } {
    if (tenant !== undefined) this.#dependencies.access.require(principal, tenant, PERMISSIONS.read);
    const nowMs = this.#dependencies.clock.nowMs();
    const { rows, total } = this.#table.list("owner", ownerKey(tenant ?? principal.subject), {
      page: query,
      filter: (row) => nowMs < row.expires_at_ms && isNamed(invitationJson(row), query.name),
    });
    return { body: rows.map(invitationJson), total };
  }

  /**
   * Makes an invitation void.
   * @throws not_found for one that the caller may not revoke
   */
  async revoke(principal: Principal, id: string): Promise<void> {
    await this.#dependencies.repository.commitCurrent(() => {
      const record = this.#table.findBy("id", [id]);
      if (record === undefined || !this.#mayRevoke(principal, record.value)) throw notFound("invitation");
      return this.#table.deleteCommit(record);
    });
  }

  /**
   * Returns the pending invitation of a token.
   * @throws invitation_invalid with the same words for every reason
   */
  find(text: string): StoreRecord<InvitationRecord> {
    const hash = opaqueTokenHash("invitation", text);
    const record = hash === undefined ? undefined : this.#table.findBy("token", [hash]);
    if (
      record === undefined ||
      this.#dependencies.clock.nowMs() >= record.value.expires_at_ms ||
      !this.#mayInviterStillGrant(record.value)
    )
      throw invitationInvalid();
    return record;
  }

  /**
   * Returns the commit by which a user accepts an invitation. An invitation to found an organization is not used up
   * yet; founding the organization does that (`associateCommit`).
   * @param options.isNew true when the commit that this one is merged into creates the user
   * @throws invitation_invalid for a user of another address; as `Memberships.joinCommit` does
   */
  acceptCommit(
    invitation: StoreRecord<InvitationRecord>,
    user: Pick<UserRecord, "id" | "email">,
    options: { readonly isNew: boolean },
  ): StoreCommit {
    const { value } = invitation;
    const { tenants, memberships } = this.#dependencies;
    if (value.email !== user.email) throw invitationInvalid();
    if (value.for_organization) return {};
    const used = this.#table.deleteCommit(invitation);
    if (value.owner_kind === "user") return used;
    const tenant: Tenant = { kind: value.owner_kind, id: value.owner_id };
    const member: Member = { kind: "user", id: user.id };
    if (options.isNew) return mergeCommits(used, memberships.newUserCommit(tenant, member, value.permissions));
    return tenants.findMembership(tenant, member) === undefined
      ? mergeCommits(used, memberships.joinCommit(tenant, member, value.permissions))
      : used;
  }

  /**
   * Returns the commit by which a new organization, founded by the invited user, joins the inviting application.
   * @throws invitation_invalid for an invitation of another kind or address
   */
  associateCommit(
    invitation: StoreRecord<InvitationRecord>,
    user: Pick<UserRecord, "email">,
    organization: Member,
  ): StoreCommit {
    const { value } = invitation;
    if (!value.for_organization || value.owner_kind !== "application" || value.email !== user.email)
      throw invitationInvalid();
    return mergeCommits(
      this.#table.deleteCommit(invitation),
      this.#dependencies.memberships.foundingCommit(
        { kind: "application", id: value.owner_id },
        organization,
        value.permissions,
      ),
    );
  }

  /** Returns true when a conflict means that an invitation was used or revoked in the meantime. */
  isUsedUp(conflictKey: StoreKey): boolean {
    return this.#table.isOwnKey(conflictKey);
  }

  /** Deletes all invitations of an application, organization or user. */
  async removeAll(owner: Subject): Promise<void> {
    await this.#dependencies.repository.commitCurrent(() => {
      const records = this.#table.records("owner", ownerKey(owner));
      if (records.length === 0) return undefined;
      return mergeCommits(...records.map((record) => this.#table.deleteCommit(record)));
    });
  }

  async #insert(
    principal: Principal,
    input: CreateInvitationInput,
    details: {
      readonly owner: Subject;
      readonly permissions: number;
      readonly email: string;
      readonly tokenHash: string;
    },
  ): Promise<InvitationRecord> {
    const { repository, tenants, events, clock } = this.#dependencies;
    const nowMs = clock.nowMs();
    const { owner, email } = details;
    const pending = this.#table.records("owner", ownerKey(owner));
    const outdated = pending.filter(({ value }) => value.email === email || nowMs >= value.expires_at_ms);
    if (pending.length - outdated.length >= PENDING_MAX)
      throw new AppError("conflict", {
        message: `more than ${String(PENDING_MAX)} invitations are pending; revoke some`,
      });
    const record: InvitationRecord = {
      id: newId(),
      created_at: isoTimestamp(nowMs),
      owner_kind: owner.kind,
      owner_id: owner.id,
      email,
      first_name: input.first_name ?? null,
      last_name: input.last_name ?? null,
      permissions: details.permissions,
      expires_at_ms: nowMs + LIFE_MS,
      token_hash: details.tokenHash,
      inviter_id: principal.subject.kind === "user" ? principal.subject.id : (principal.actingUserId ?? null),
      for_organization: input.params?.is_organization_invite === true,
    };
    // Two commits, because the unique entry of an earlier invitation must be deleted before the new one is inserted. A
    // crash between them loses nothing but the void invitation.
    if (outdated.length > 0)
      await repository.commit(mergeCommits(...outdated.map((old) => this.#table.deleteCommit(old))));
    await repository.commit(
      mergeCommits(
        this.#table.insertCommit(record),
        tenants.liveCheck(owner) ?? {},
        events.commitOf([invitationEvent(owner, record.id)]),
      ),
    );
    return record;
  }

  /** The place that the invitation is to, and the permissions that it will grant there. */
  #placeOf(principal: Principal, input: CreateInvitationInput): { owner: Subject; permissions: number } {
    const { access, tenants } = this.#dependencies;
    const { subject } = principal;
    const own = subject.kind === "user" ? undefined : { kind: subject.kind, id: subject.id };
    const tenant = namedTenant(input) ?? own;
    if (input.params?.is_organization_invite === true && tenant?.kind !== "application")
      throw new AppError("invalid_request", { message: "params.is_organization_invite: needs an application" });
    if (tenant === undefined) {
      if (input.permissions !== undefined)
        throw new AppError("permission_escalation", {
          message: "permissions: an invitation to the service grants none",
        });
      return { owner: subject, permissions: NEW_USER_PERMISSIONS };
    }
    if (!tenants.areAssociated(input)) throw tenantNotFound("organization");
    const held = access.require(principal, tenant, PERMISSIONS.grant);
    const permissions = input.permissions ?? defaultPermissions(tenant.kind) & held;
    access.requireSubset(permissions, held);
    return { owner: tenant, permissions };
  }

  /** Rejects inviting a member of an organization; who may invite there may also list its members. */
  #requireNotMember(owner: Subject, email: string): void {
    if (owner.kind !== "organization") return;
    const { repository, tenants } = this.#dependencies;
    const user = repository.findUserByEmail(email)?.value;
    if (
      user !== undefined &&
      tenants.findMembership({ kind: "organization", id: owner.id }, { kind: "user", id: user.id }) !== undefined
    ) {
      throw new AppError("conflict", { message: "this address belongs to a member already" });
    }
  }

  #mayInviterStillGrant(record: InvitationRecord): boolean {
    if (record.owner_kind === "user" || record.inviter_id === null) return true;
    const held = this.#dependencies.access.permissionsOf(
      { kind: record.owner_kind, id: record.owner_id },
      { acting_user_id: record.inviter_id },
    );
    return held !== undefined && holdsAll(held, PERMISSIONS.grant) && holdsAll(held, record.permissions);
  }

  #mayRevoke(principal: Principal, record: InvitationRecord): boolean {
    const { subject } = principal;
    if (subject.kind === "user" && record.inviter_id === subject.id) return true;
    if (record.owner_kind === "user") return false;
    const bits = this.#dependencies.access.permissionsOn(principal, { kind: record.owner_kind, id: record.owner_id });
    return bits !== undefined && holdsAll(bits, PERMISSIONS.revoke);
  }

  #nameOf(owner: Subject): string {
    const { tenants } = this.#dependencies;
    const record =
      owner.kind === "application"
        ? tenants.applications.get([owner.id])
        : owner.kind === "organization"
          ? tenants.organizations.get([owner.id])
          : undefined;
    return record?.value.name ?? "Proofwright";
  }
}

function invitationJson(record: InvitationRecord): InvitationJson {
  return {
    id: record.id,
    created_at: record.created_at,
    email: record.email,
    name: [record.first_name, record.last_name].filter((part) => part !== null).join(" "),
    first_name: record.first_name,
    last_name: record.last_name,
    permissions: record.permissions,
    application_id: record.owner_kind === "application" ? record.owner_id : null,
    organization_id: record.owner_kind === "organization" ? record.owner_id : null,
    expires_at: isoTimestamp(record.expires_at_ms),
  };
}

/** Says that an invitation cannot be accepted, without the reason. */
export function invitationInvalid(): AppError {
  return new AppError("invitation_invalid", {
    message:
      "the invitation is not valid: it was used or revoked, has expired, or is meant for another address or place",
  });
}

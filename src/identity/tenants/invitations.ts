/**
 * Invitations by mail to an application, an organization or the service: accepted once, by the address that they were
 * sent to, within a day, while whoever sent them may still grant. The token is known to the mail alone; its hash is
 * kept.
 */
import {
  ASSOCIATE_PERMISSIONS,
  NEW_USER_PERMISSIONS,
  ORGANIZATION_MEMBER_PERMISSIONS,
  PERMISSIONS,
  holdsAll,
} from "../../platform/auth/permissions.js";
import { createOpaqueToken, opaqueTokenHash } from "../../platform/auth/opaque-token.js";
import {
  formatSubject,
  ownerKey,
  type Principal,
  type Subject,
  type SubjectKind,
} from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import type { MailDriver } from "../../platform/mail/mail.js";
import type { Outbox } from "../../platform/mail/outbox.js";
import type { Store, StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { defineTable, mergeCommits, retryOnConflict, type Page, type Table } from "../../platform/store/tables.js";
import { tenantNotFound, type TenantAccess } from "./tenant-access.js";
import { normalizeEmail } from "../users/email.js";
import type { HourlyLimit } from "../login/hourly-limit.js";
import type { CreateInvitationInput, InvitationJson } from "./invitation-schemas.js";
import { invitationEvent } from "../identity-events.js";
import { invitationMail } from "../users/notification-mail.js";
import type { Memberships } from "./memberships.js";
import type { IdentityRepository, UserRecord } from "../repository.js";
import type { Member, Tenant, TenantRepository } from "./tenant-repository.js";
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
  /** Null when the application or organization invited by itself. */
  readonly inviter_id: string | null;
  /** The invited user brings an organization to the application. */
  readonly for_organization: boolean;
};

export interface InvitationsDependencies {
  readonly store: Store;
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly access: TenantAccess;
  readonly memberships: Memberships;
  readonly limit: HourlyLimit;
  readonly mail: MailDriver;
  readonly outbox: Outbox;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
  readonly log: Log;
}

const LIFE_HOURS = 24;
const LIFE_MS = LIFE_HOURS * 3600 * 1000;
/** Pending ones of one application, organization or user. */
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
   * Invites somebody; an earlier invitation of the same address to the same place is void. Answers the same whether the
   * address has an account or not.
   */
  async create(principal: Principal, input: CreateInvitationInput): Promise<InvitationJson> {
    const { limit, outbox, mail, log } = this.#dependencies;
    const email = normalizeEmail(input.email);
    if (email === undefined) throw invalidEmail();
    const place = this.#placeOf(principal, input);
    this.#requireNotMember(place.owner, email);
    await limit.count(subjectThrottleKey(principal.subject));
    const token = createOpaqueToken("invitation");
    const record = await retryOnConflict(() =>
      this.#insert(principal, input, { ...place, email, tokenHash: token.hash }),
    );
    const letter = invitationMail({
      to: email,
      serviceUrl: this.#serviceUrl,
      token: token.text,
      hours: LIFE_HOURS,
      what: this.#nameOf(place.owner),
    });
    outbox.add(() => mail.send(letter));
    log.info("invitation created", { subject: formatSubject(principal.subject), tenant: formatSubject(place.owner) });
    return invitationJson(record);
  }

  /** Pending invitations of an application or organization, or those of the caller to the service. */
  list(principal: Principal, tenant: Tenant | undefined, page: Page): { body: InvitationJson[]; total: number } {
    if (tenant !== undefined) this.#dependencies.access.require(principal, tenant, PERMISSIONS.read);
    const nowMs = this.#dependencies.clock.nowMs();
    const { rows, total } = this.#table.list("owner", ownerKey(tenant ?? principal.subject), {
      page,
      filter: (row) => nowMs < row.expires_at_ms,
    });
    return { body: rows.map(invitationJson), total };
  }

  /** Takes an invitation back. Throws `not_found` for one that the caller may not see. */
  async revoke(principal: Principal, id: string): Promise<void> {
    await retryOnConflict(async () => {
      const record = this.#table.findBy("id", [id]);
      if (record === undefined || !this.#mayRevoke(principal, record.value))
        throw new AppError("not_found", { message: "invitation not found" });
      await this.#dependencies.repository.commit(this.#table.deleteCommit(record));
    });
  }

  /** A pending invitation by its token. Throws `invitation_invalid`, with the same words for every reason. */
  find(text: string): StoreRecord<InvitationRecord> {
    const hash = opaqueTokenHash("invitation", text);
    const record = hash === undefined ? undefined : this.#table.findBy("token", [hash]);
    if (
      record === undefined ||
      this.#dependencies.clock.nowMs() >= record.value.expires_at_ms ||
      !this.#inviterStillMay(record.value)
    )
      throw invitationInvalid();
    return record;
  }

  /**
   * The commit by which a user accepts; the same for a user that the very commit makes. Throws `invitation_invalid` for
   * another address.
   */
  acceptCommit(
    invitation: StoreRecord<InvitationRecord>,
    user: Pick<UserRecord, "id" | "email">,
    options: { readonly isNew: boolean },
  ): StoreCommit {
    const { value } = invitation;
    const { tenants, memberships } = this.#dependencies;
    if (value.email !== user.email) throw invitationInvalid();
    const used = this.#table.deleteCommit(invitation);
    if (value.owner_kind === "user" || value.for_organization) return value.for_organization ? {} : used;
    const tenant: Tenant = { kind: value.owner_kind, id: value.owner_id };
    const member: Member = { kind: "user", id: user.id };
    if (!options.isNew)
      return tenants.findMembership(tenant, member) === undefined
        ? mergeCommits(used, memberships.joinCommit(tenant, member, value.permissions))
        : used;
    return mergeCommits(used, memberships.newUserCommit(tenant, member, value.permissions));
  }

  /**
   * The commit by which a new organization, founded by the invited user, is associated with the inviting application.
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

  /** True when a conflict means that the invitation was used or taken back meanwhile. */
  isUsedUp(conflictTable: unknown): boolean {
    return typeof conflictTable === "string" && /^invitation[#!]?/.test(conflictTable);
  }

  async removeAll(owner: Subject): Promise<void> {
    await retryOnConflict(async () => {
      const records = this.#table.records("owner", ownerKey(owner));
      if (records.length > 0)
        await this.#dependencies.repository.commit(
          mergeCommits(...records.map((record) => this.#table.deleteCommit(record))),
        );
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
    const gone = pending.filter(({ value }) => value.email === email || nowMs >= value.expires_at_ms);
    if (pending.length - gone.length >= PENDING_MAX)
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
    // The earlier one's unique entry must be gone before the new one can stand: two commits, and the first loses
    // nothing.
    if (gone.length > 0) await repository.commit(mergeCommits(...gone.map((old) => this.#table.deleteCommit(old))));
    await repository.commit(
      mergeCommits(
        this.#table.insertCommit(record),
        tenants.liveCheck(owner) ?? {},
        events.commitOf([invitationEvent(owner, record.id)]),
      ),
    );
    return record;
  }

  /** Where the invitation is to, and what it will grant. */
  #placeOf(principal: Principal, input: CreateInvitationInput): { owner: Subject; permissions: number } {
    const { access, tenants } = this.#dependencies;
    const { subject } = principal;
    const own: Subject | undefined = subject.kind === "user" ? undefined : subject;
    const named: Tenant | undefined =
      input.organization_id !== undefined
        ? { kind: "organization", id: input.organization_id }
        : input.application_id !== undefined
          ? { kind: "application", id: input.application_id }
          : undefined;
    const tenant = named ?? (own === undefined ? undefined : { kind: own.kind as Tenant["kind"], id: own.id });
    if (input.params?.is_organization_invite === true && tenant?.kind !== "application")
      throw new AppError("invalid_request", { message: "params.is_organization_invite: needs an application" });
    if (tenant === undefined) {
      if (input.permissions !== undefined)
        throw new AppError("permission_escalation", {
          message: "permissions: an invitation to the service grants none",
        });
      return { owner: subject, permissions: NEW_USER_PERMISSIONS };
    }
    const { application_id: applicationId, organization_id: organizationId } = input;
    // Both may be named, as for a token: the organization must then be one of the application's.
    if (
      applicationId !== undefined &&
      organizationId !== undefined &&
      tenants.findMembership(
        { kind: "application", id: applicationId },
        { kind: "organization", id: organizationId },
      ) === undefined
    ) {
      throw tenantNotFound("organization");
    }
    const held = access.require(principal, tenant, PERMISSIONS.grant);
    const byDefault = tenant.kind === "organization" ? ORGANIZATION_MEMBER_PERMISSIONS : ASSOCIATE_PERMISSIONS;
    const permissions = input.permissions ?? byDefault & held;
    access.requireSubset(permissions, held);
    return { owner: tenant, permissions };
  }

  /** A member of an organization is no secret to those who may invite there. */
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

  #inviterStillMay(record: InvitationRecord): boolean {
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

export function invitationInvalid(): AppError {
  return new AppError("invitation_invalid", {
    message: "the invitation is not valid: it was used, taken back, is over, or is meant for another address or place",
  });
}

function invalidEmail(): AppError {
  const message = "the e-mail address is not valid";
  return new AppError("invalid_email", { message, details: [{ message, code: "invalid_email", path: "email" }] });
}

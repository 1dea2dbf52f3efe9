/**
 * Applications: their creator becomes the first member, and members with the right permissions change and delete them.
 * The user who created one is recorded; the record grants nothing.
 */
import { PERMISSIONS, TENANT_PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import { formatSubject, type Principal } from "../../platform/auth/principal.js";
import { requireSaidOwner } from "../../platform/auth/said-owner.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { requireUnchanged, type SentBack } from "../../platform/contract/client-names.js";
import { AppError } from "../../platform/errors.js";
import { isUuid, newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import type { References } from "../../platform/references.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, type Page } from "../../platform/store/tables.js";
import { requireTenantBy, tenantNotFound, type TenantAccess } from "./tenant-access.js";
import { isNamed, pageOf, type NameFilter } from "../listing.js";
import type { Memberships } from "./memberships.js";
import type { IdentityRepository } from "../repository.js";
import type { SubjectDeletion } from "../subject-deletion.js";
import type { ApplicationRecord, Member, Tenant, TenantRepository } from "./tenant-repository.js";
import type { ApplicationJson, CreateApplicationInput, UpdateApplicationInput } from "./tenant-schemas.js";

export interface ApplicationsDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly access: TenantAccess;
  readonly memberships: Memberships;
  readonly deletion: SubjectDeletion;
  readonly references: References;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ApplicationFilters extends NameFilter {
  readonly network_id?: string;
  readonly type?: string;
  readonly hidden?: boolean;
}

export class Applications {
  readonly #dependencies: ApplicationsDependencies;

  constructor(dependencies: ApplicationsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Creates an application; the calling user or organization becomes its first member, with every permission on it.
   * @param keep returns what else goes into the application's commit
   * @throws forbidden for an application, and for a user who names an organization where it may not create; not_found
   *   for a network or owner that the caller cannot see; conflict when the caller is a member of too many
   */
  async create(
    principal: Principal,
    input: CreateApplicationInput,
    keep?: (application: ApplicationJson) => StoreCommit,
  ): Promise<ApplicationJson> {
    const { repository, tenants, access, memberships, references, clock, log } = this.#dependencies;
    const { subject } = principal;
    if (subject.kind === "application")
      throw new AppError("forbidden", { message: "an application cannot create applications" });
    requireSaidOwner(principal, input, requireTenantBy(access));
    const organizationId = input.organization_id ?? undefined;
    // The record would speak for the organization, which takes more than reading there.
    if (subject.kind === "user" && organizationId !== undefined)
      access.require(principal, { kind: "organization", id: organizationId }, PERMISSIONS.create);
    const network_id = input.network_id ?? networkOf(input.config);
    references.require(subject, { network_id }, ["network_id"]);
    const id = newId();
    const application: ApplicationRecord = {
      id,
      created_at: isoTimestamp(clock.nowMs()),
      name: input.name ?? `Application ${id.slice(0, 8)}`,
      description: input.description ?? null,
      type: input.type ?? null,
      network_id,
      user_id: subject.kind === "user" ? subject.id : (principal.actingUserId ?? null),
      organization_id: subject.kind === "organization" ? subject.id : (input.organization_id ?? null),
      config: configOf(input),
      hidden: input.hidden ?? false,
    };
    const tenant: Tenant = { kind: "application", id };
    const creator: Member = { kind: subject.kind, id: subject.id };
    memberships.requireRoom(creator, "application");
    await repository.commit(
      mergeCommits(
        tenants.applications.insertCommit(application),
        tenants.createStateCommit(tenant),
        tenants.insertMembershipCommit(memberships.newMembership(tenant, creator, TENANT_PERMISSIONS)),
        keep?.(application) ?? {},
      ),
    );
    log.info("application created", { subject: formatSubject(subject), tenant: formatSubject(tenant) });
    return application;
  }

  /**
   * Returns a page of the applications where the caller may read, oldest first: only itself for an application, all for
   * `app_list` and `sudo`.
   */
  list(principal: Principal, filters: ApplicationFilters, page: Page): { body: ApplicationJson[]; total: number } {
    const matches = (row: ApplicationRecord): boolean =>
      isNamed(row, filters.name) &&
      row.hidden === (filters.hidden ?? false) &&
      (filters.type === undefined || row.type === filters.type) &&
      (filters.network_id === undefined || row.network_id === filters.network_id);
    const { applications } = this.#dependencies.tenants;
    if (holdsAll(principal.permissions, PERMISSIONS.app_list) || holdsAll(principal.permissions, PERMISSIONS.sudo)) {
      const { rows, total } = applications.list("all", [], { page, filter: matches });
      return { body: rows, total };
    }
    const visible = this.#idsFor(principal)
      .flatMap((id) => applications.get([id])?.value ?? [])
      .filter(matches);
    const { rows, total } = pageOf(visible, page);
    return { body: rows, total };
  }

  /** Returns an application where the caller may read. Throws as `TenantAccess.require` does. */
  get(principal: Principal, id: string): ApplicationJson {
    this.#dependencies.access.require(principal, { kind: "application", id }, PERMISSIONS.read);
    return this.#require(id).value;
  }

  /**
   * Changes the given members.
   * @param change.sentBack members of the record that cannot change, as the caller read them
   * @throws conflict for another primary network, which is set at creation; invalid_request for another owner;
   *   otherwise as `TenantAccess.require` does
   */
  async update(
    principal: Principal,
    id: string,
    change: { readonly input: UpdateApplicationInput; readonly sentBack: SentBack },
  ): Promise<void> {
    const { input, sentBack } = change;
    const { access, repository, tenants } = this.#dependencies;
    await repository.commitCurrent(() => {
      access.require(principal, { kind: "application", id }, PERMISSIONS.update);
      const current = this.#require(id);
      requireUnchanged(sentBack, current.value, ["id", "user_id", "organization_id"]);
      if (input.network_id !== undefined && input.network_id !== current.value.network_id) {
        throw new AppError("conflict", {
          message: "network_id: the primary network is set at creation and cannot be changed",
        });
      }
      const { name, description, type, hidden } = input;
      const next: ApplicationRecord = {
        ...current.value,
        ...(name === undefined ? {} : { name }),
        ...(description === undefined ? {} : { description }),
        ...(type === undefined ? {} : { type }),
        ...(hidden === undefined ? {} : { hidden }),
        ...(input.config === undefined ? {} : { config: configOf(input) }),
      };
      return tenants.applications.updateCommit(current, next);
    });
  }

  /** Deletes an application and everything that only it owns. Throws as `SubjectDeletion.deleteTenant` does. */
  async delete(principal: Principal, id: string): Promise<void> {
    const tenant: Tenant = { kind: "application", id };
    this.#dependencies.access.require(principal, tenant, PERMISSIONS.delete);
    this.#require(id);
    await this.#dependencies.deletion.deleteTenant(tenant);
    this.#dependencies.log.info("application deleted", {
      subject: formatSubject(principal.subject),
      tenant: formatSubject(tenant),
    });
  }

  #idsFor({ subject }: Principal): string[] {
    if (subject.kind === "application") return [subject.id];
    return this.#dependencies.tenants
      .listMemberships({ kind: subject.kind, id: subject.id }, "application")
      .filter(({ permissions }) => holdsAll(permissions, PERMISSIONS.read))
      .map(({ tenant_id: id }) => id);
  }

  #require(id: string): NonNullable<ReturnType<TenantRepository["applications"]["get"]>> {
    const found = this.#dependencies.tenants.applications.get([id]);
    if (found === undefined) throw tenantNotFound("application");
    return found;
  }
}

/** Takes the object as it came: it was parsed from JSON, so it holds only JSON values. */
function configOf(input: UpdateApplicationInput): ApplicationRecord["config"] {
  return (input.config ?? {}) as ApplicationRecord["config"];
}

/** Existing clients name the network in the configuration. */
function networkOf(config: CreateApplicationInput["config"]): string | null {
  const inside = config?.["network_id"];
  return typeof inside === "string" && isUuid(inside) ? inside : null;
}

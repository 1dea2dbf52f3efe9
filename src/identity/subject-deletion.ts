/**
 * Deletes users, applications and organizations with everything that only they own. The subject's tokens are void
 * before anything is deleted, so that nothing can be added meanwhile. Each step may be repeated: a deletion that was
 * cut off is finished by repeating the request.
 */
import type { Subject } from "../platform/auth/principal.js";
import type { Log } from "../platform/log.js";
import type { Clients } from "./oauth/clients.js";
import type { IdentityRepository } from "./repository.js";
import type { Invitations } from "./tenants/invitations.js";
import type { Memberships } from "./tenants/memberships.js";
import type { Tenant, TenantRepository } from "./tenants/tenant-repository.js";
import type { PersonalTokens } from "./tokens/personal-tokens.js";
import type { Sessions } from "./tokens/sessions.js";
import type { Tokens } from "./tokens/tokens.js";

/** Deletes what a subject owns in another area, such as its vaults. Must be safe to repeat. */
export type OwnerPurge = (owner: Subject) => Promise<void>;

export interface SubjectDeletionDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly clients: Clients;
  readonly sessions: Sessions;
  readonly tokens: Tokens;
  readonly personalTokens: PersonalTokens;
  /** The other areas, in the order in which they delete. */
  readonly purges: readonly OwnerPurge[];
  readonly log: Log;
}

/** Users of a deleted application that are read at a time. */
const VIRTUAL_USERS_BATCH = 50;

export class SubjectDeletion {
  readonly #dependencies: SubjectDeletionDependencies;

  constructor(dependencies: SubjectDeletionDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Deletes an application or organization, and an application's own users; the caller's right to it was checked
   * before.
   * @throws vault_sealed while the vault cannot say what the tenant owns
   */
  async deleteTenant(tenant: Tenant): Promise<void> {
    const { repository, tenants, memberships, sessions } = this.#dependencies;
    await this.#disable(tenant);
    await sessions.endWhere(tenant, () => true);
    await this.#purge(tenant);
    if (tenant.kind === "organization") await memberships.removeAll("member", { kind: "organization", id: tenant.id });
    await memberships.removeAll("tenant", tenant);
    await repository.commitCurrent(() => tenants.deleteTenantCommit(tenant));
  }

  /**
   * Deletes a user; the caller's right to it was checked before.
   * @throws vault_sealed while the vault cannot say what the user owns
   */
  async deleteUser(id: string): Promise<void> {
    const { repository, memberships, sessions, tokens, log } = this.#dependencies;
    const subject = { kind: "user", id } as const;
    await this.#disable(subject);
    await sessions.endWhere(subject, () => true);
    await tokens.revokeAllOf(subject);
    await this.#purge(subject);
    await memberships.removeAll("member", subject);
    await repository.commitCurrent(() => {
      const record = repository.findUser(id);
      return record === undefined ? undefined : repository.deleteUserCommit(record);
    });
    log.info("user deleted", { subject: `user:${id}` });
  }

  /** Voids every token of a subject for good. */
  async #disable(subject: Subject): Promise<void> {
    const { repository } = this.#dependencies;
    await repository.commitCurrent(() => {
      const state = repository.findState(subject);
      if (state?.value.enabled !== true) return undefined;
      const disabled = { enabled: false, epoch: state.value.epoch + 1 };
      return { ...repository.replaceStateCommit(state, disabled), urgent: true };
    });
  }

  /** Deletes what a subject owns: in the other areas first, then in identity. */
  async #purge(owner: Subject): Promise<void> {
    const { repository, purges, personalTokens, invitations, clients } = this.#dependencies;
    for (const purge of purges) await purge(owner);
    await personalTokens.revokeAll(owner);
    await invitations.removeAll(owner);
    if (owner.kind !== "application") return;
    await repository.commit(clients.deleteCommit(owner.id));
    for (;;) {
      const users = repository.someUsersOf(owner.id, VIRTUAL_USERS_BATCH);
      if (users.length === 0) return;
      for (const { value } of users) await this.deleteUser(value.id);
    }
  }
}

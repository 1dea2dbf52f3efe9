/**
 * Takes away an application or organization with everything that it alone owns. Its tokens are void before anything
 * goes, so that nothing can be added meanwhile; each step may be repeated, so that a deletion that was cut off is
 * finished by asking again.
 */
import type { Subject } from "../platform/auth/principal.js";
import { retryOnConflict } from "../platform/store/tables.js";
import type { Memberships } from "./tenants/memberships.js";
import type { IdentityRepository } from "./repository.js";
import type { Sessions } from "./tokens/sessions.js";
import type { Tenant, TenantRepository } from "./tenants/tenant-repository.js";

/** Deletes what a subject owns in another area, such as its vaults. Must be safe to repeat. */
export type OwnerPurge = (owner: Subject) => Promise<void>;

export interface TenantDeletionDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly memberships: Memberships;
  readonly sessions: Sessions;
  /** In this order. */
  readonly purges: readonly OwnerPurge[];
}

export class TenantDeletion {
  readonly #dependencies: TenantDeletionDependencies;

  constructor(dependencies: TenantDeletionDependencies) {
    this.#dependencies = dependencies;
  }

  /** Deletes a tenant whose caller was found to be allowed to. */
  async delete(tenant: Tenant): Promise<void> {
    const { repository, tenants, memberships, sessions } = this.#dependencies;
    await this.disable(tenant);
    await sessions.endWhere(tenant, () => true);
    await this.purge(tenant);
    if (tenant.kind === "organization") await memberships.removeAll("member", { kind: "organization", id: tenant.id });
    await memberships.removeAll("tenant", tenant);
    await retryOnConflict(async () => {
      await repository.commit(tenants.deleteTenantCommit(tenant));
    });
  }

  /** Voids every token of a subject for good. */
  async disable(subject: Subject): Promise<void> {
    const { repository } = this.#dependencies;
    await retryOnConflict(async () => {
      const state = repository.findState(subject);
      if (state?.value.enabled === true)
        await repository.commit({
          ...repository.replaceStateCommit(state, { enabled: false, epoch: state.value.epoch + 1 }),
          urgent: true,
        });
    });
  }

  /** Deletes what a subject owns in the other areas. Throws `vault_sealed` while the vault cannot say what it holds. */
  async purge(owner: Subject): Promise<void> {
    for (const purge of this.#dependencies.purges) await purge(owner);
  }
}

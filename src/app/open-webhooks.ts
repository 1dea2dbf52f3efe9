/**
 * The part of the composition root that makes webhooks: their secrets in the vault, their requests through an egress
 * guard of their own, their mails to whom identity knows.
 */
import { SealedCredentials } from "../chain/sealed-credentials.js";
import type { IdentityServices } from "../identity/services.js";
import { PERMISSIONS, holdsAll } from "../platform/auth/permissions.js";
import type { Subject } from "../platform/auth/principal.js";
import { AllowList } from "../platform/net/address-rules.js";
import { createEgressGuard } from "../platform/net/egress-guard.js";
import type { SigningSecrets } from "../platform/webhooks/webhook-secrets.js";
import { createWebhooks, type WebhookParts } from "../platform/webhooks/create-webhooks.js";
import type { VaultService } from "../vault/service.js";
import { egressRules } from "./open-chain.js";
import type { Platform } from "./open-platform.js";

/** Makes webhooks. Nothing runs before `start`. */
export function openWebhooks(
  { config, audit, events, clock, log }: Platform,
  {
    vault,
    identity,
  }: { readonly vault: VaultService; readonly identity: Pick<IdentityServices, "ownerNotices" | "access"> },
): WebhookParts {
  const store = audit.vaultStore;
  const { egressAllow, egressPorts } = egressRules(config);
  const egress = createEgressGuard({ allow: new AllowList(egressAllow), ports: egressPorts });
  const webhooks = createWebhooks({
    store,
    events: events.log,
    secrets: new SealedCredentials<SigningSecrets>(
      { what: "webhook", gone: "webhook_secret_missing" },
      { vault, store },
    ),
    egress,
    tellOwner: (owner, notice) => identity.ownerNotices.webhookDisabled(owner, notice),
    mayListen: (owner) => mayListen(identity, owner),
    clock,
    log,
  });
  return {
    ...webhooks,
    stop: async () => {
      await webhooks.stop();
      egress.close();
    },
  };
}

/** A user who may not log in hears nothing either, as with its access tokens. */
function mayListen({ access }: Pick<IdentityServices, "access">, owner: Subject): boolean {
  const needed = PERMISSIONS.subscribe | (owner.kind === "user" ? PERMISSIONS.authenticate : 0);
  return holdsAll(access.permissionsOf(owner) ?? 0, needed);
}

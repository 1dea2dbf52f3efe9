/**
 * The part of the composition root that puts identity together: signing keys, mail, trusted issuers, and what identity
 * asks of the other areas.
 */
import { join } from "node:path";
import type { Chain } from "./chain/create-chain.js";
import { createIdentity, type Identity } from "./identity/create-identity.js";
import { readTrustedIssuers } from "./platform/auth/external-issuers.js";
import type { Subject } from "./platform/auth/principal.js";
import { openSigningKeys, type SigningKeys } from "./platform/auth/signing-keys.js";
import type { Clock } from "./platform/clock.js";
import type { Config } from "./platform/config.js";
import type { Events } from "./platform/events/events.js";
import type { Log } from "./platform/log.js";
import { createFileMail } from "./platform/mail/file-mail.js";
import type { MailDriver } from "./platform/mail/mail.js";
import type { Store, StoreCommit } from "./platform/store/store.js";
import type { ProverRegistry } from "./prover/create-prover-registry.js";
import type { Vault } from "./vault/create-vault.js";

/** The areas that are made after identity; there once requests come. */
export interface OtherAreas {
  vault?: Vault;
  provers?: ProverRegistry;
  chain?: Chain;
}

export interface IdentityParts {
  readonly identity: Identity;
  readonly keys: SigningKeys;
  /** Where the one-use token of the first administrator was left; undefined when there are users already. */
  readonly bootstrapTokenPath: string | undefined;
}

/** What a deletion looks at per round. */
const PURGE_PAGE = { page: 1, rpp: 100 };

export async function openIdentity(
  config: Config,
  dataDir: string,
  dependencies: {
    readonly store: Store;
    readonly clock: Clock;
    readonly log: Log;
    readonly events: Events;
    readonly areas: OtherAreas;
  },
): Promise<IdentityParts> {
  const { store, clock, log, events, areas } = dependencies;
  const keys = await openSigningKeys(
    { path: join(dataDir, "signing-keys.json"), algorithm: config.signing_algorithm },
    { clock, log },
  );
  const trustedIssuers = config.trusted_issuers === undefined ? [] : await readTrustedIssuers(config.trusted_issuers);
  const identity = createIdentity(
    {
      issuer: config.issuer,
      trustedIssuers,
      legal: { privacy_policy: config.privacy_policy_url, terms_of_service: config.terms_of_service_url },
      ...(config.rate_limits ? {} : { signupsPerHourMax: Infinity }),
    },
    {
      store,
      keys,
      clock,
      log,
      events,
      mail: await mailDriver(config, dataDir, { clock, log }),
      firstVault: (owner, name) => firstVault(areas, owner, name),
      purges: [
        async (owner) => {
          await areas.chain?.purge(owner);
        },
        (owner) => purgeProvers(areas, owner),
        (owner) => purgeVaults(areas, owner),
      ],
    },
  );
  const path = join(dataDir, "bootstrap-token");
  return { identity, keys, bootstrapTokenPath: (await identity.services.bootstrap.offer(path)) ? path : undefined };
}

/**
 * SMTP when an address is given; else a folder in development, and in production nobody, which the log says for each
 * mail.
 */
async function mailDriver(
  config: Config,
  dataDir: string,
  dependencies: { readonly clock: Clock; readonly log: Log },
): Promise<MailDriver> {
  const from = config.mail_from;
  if (config.mail_url !== undefined) {
    const { createSmtpMail } = await import("./platform/mail/smtp-mail.js");
    return createSmtpMail({ url: config.mail_url, from });
  }
  if (config.mode === "development") return createFileMail({ folder: join(dataDir, "mail"), from }, dependencies);
  return {
    send: () => {
      dependencies.log.warn("a mail was not sent: PROOFWRIGHT_MAIL_URL is not set");
      return Promise.resolve();
    },
  };
}

async function firstVault(areas: OtherAreas, owner: Subject, name: string): Promise<StoreCommit | undefined> {
  const vault = areas.vault?.service;
  if (vault?.isUnsealed() !== true) return undefined;
  return (await vault.prepareVault(owner, { name: name.slice(0, 200) })).commit;
}

async function purgeProvers(areas: OtherAreas, owner: Subject): Promise<void> {
  const provers = areas.provers?.service;
  if (provers === undefined) return;
  for (;;) {
    const { body } = provers.list(owner, PURGE_PAGE);
    if (body.length === 0) return;
    for (const { id } of body) await provers.delete(owner, id);
  }
}

async function purgeVaults(areas: OtherAreas, owner: Subject): Promise<void> {
  const vault = areas.vault?.service;
  if (vault === undefined) return;
  for (;;) {
    const { body } = vault.listVaults(owner, PURGE_PAGE);
    if (body.length === 0) return;
    for (const { id } of body) await vault.deleteVault(owner, id);
  }
}

/**
 * The part of the composition root that puts identity together: signing keys, mail, trusted issuers, and the parts of
 * the other areas that creating and deleting an owner needs.
 */
import { join } from "node:path";
import { createIdentity, type Identity } from "../identity/create-identity.js";
import { readTrustedIssuers } from "../platform/auth/external-issuers.js";
import type { Subject } from "../platform/auth/principal.js";
import {
  ACCESS_TOKEN_KEY_FILE,
  ID_TOKEN_ALGORITHM,
  ID_TOKEN_KEY_FILE,
  openSigningKeys,
  type SigningKeys,
} from "../platform/auth/signing-keys.js";
import { SigningKeysOnDemand } from "../platform/auth/signing-keys-on-demand.js";
import type { Clock } from "../platform/clock.js";
import type { Signal } from "../platform/concurrency/signal.js";
import type { Config } from "../platform/config.js";
import type { Events } from "../platform/events/events.js";
import type { SecretFile } from "../platform/files/secret-file.js";
import type { Log } from "../platform/log.js";
import type { Nodes } from "../platform/nodes/nodes.js";
import { createFileMail } from "../platform/mail/file-mail.js";
import type { MailDriver } from "../platform/mail/mail.js";
import type { References } from "../platform/references.js";
import type { Store, StoreCommit } from "../platform/store/store.js";
import type { ProverRegistry } from "../prover/create-prover-registry.js";
import type { VaultService } from "../vault/service.js";
import { emailConfirmationOf } from "./shared-settings.js";

export interface OpenIdentityDependencies {
  readonly store: Store;
  readonly nodes: Nodes;
  readonly clock: Clock;
  readonly log: Log;
  /** See OpenedStore. */
  readonly secretOf: (name: string) => SecretFile;
  readonly events: Events;
  readonly vault: VaultService;
  readonly provers: Pick<ProverRegistry, "service" | "sharing" | "proofJobs">;
  /** Emitted when an owner is deleted, before its provers and vaults are: for areas that are built after identity. */
  readonly ownerDeleted: Signal<Subject>;
  /** Look-ups of what bodies name by id, also in areas that are built after identity. */
  readonly references: References;
}

export interface IdentityParts {
  readonly identity: Identity;
  readonly keys: SigningKeys;
  readonly idTokenKeys: SigningKeysOnDemand;
  /** The file with the token of the first administrator; undefined when there are users already. */
  readonly bootstrapTokenPath: string | undefined;
}

/** The records that a deletion reads at a time. */
const PURGE_PAGE = { page: 1, rpp: 100 };

/** Opens the signing keys and builds the identity area; leaves a bootstrap token while there is no user. */
export async function openIdentity(
  config: Config,
  dataDir: string,
  dependencies: OpenIdentityDependencies,
): Promise<IdentityParts> {
  const { store, nodes, clock, log, secretOf, events, vault, provers, ownerDeleted, references } = dependencies;
  const keys = await openSigningKeys(
    { file: secretOf(ACCESS_TOKEN_KEY_FILE), algorithm: config.signing_algorithm },
    { clock, log },
  );
  const idTokenKeys = new SigningKeysOnDemand(
    { file: secretOf(ID_TOKEN_KEY_FILE), algorithm: ID_TOKEN_ALGORITHM },
    { clock, log },
  );
  // In a cluster they are made in the store, which may be away when they are first asked for.
  if (config.database_url === undefined) await idTokenKeys.openIfMade();
  else await idTokenKeys.open();
  const trustedIssuers = config.trusted_issuers === undefined ? [] : await readTrustedIssuers(config.trusted_issuers);
  const identity = createIdentity(
    {
      issuer: config.issuer,
      emailConfirmation: emailConfirmationOf(config),
      trustedIssuers,
      legal: { privacy_policy: config.privacy_policy_url, terms_of_service: config.terms_of_service_url },
      ...(config.rate_limits ? {} : { signupsPerHourMax: Infinity }),
    },
    {
      store,
      changesElsewhere: () => nodes.changes(),
      keys,
      idTokenKeys: () => idTokenKeys.open(),
      clock,
      log,
      events,
      references,
      mail: await mailDriver(config, dataDir, { clock, log }),
      firstVault: (owner, name) => firstVault(vault, owner, name),
      purges: [
        (owner) => ownerDeleted.emit(owner),
        (owner) => purgeProvers(provers, owner),
        (owner) => purgeVaults(vault, owner),
      ],
    },
  );
  const path = join(dataDir, "bootstrap-token");
  const bootstrapTokenPath = (await identity.services.bootstrap.offer(path, { isAlone: nodes.count === 1 }))
    ? path
    : undefined;
  return { identity, keys, idTokenKeys, bootstrapTokenPath };
}

/**
 * Sends mail by SMTP when an address is configured. Otherwise mails go to a folder in development, and are dropped with
 * a warning in production.
 */
async function mailDriver(
  config: Config,
  dataDir: string,
  dependencies: { readonly clock: Clock; readonly log: Log },
): Promise<MailDriver> {
  const from = config.mail_from;
  if (config.mail_url !== undefined) {
    const { createSmtpMail } = await import("../platform/mail/smtp-mail.js");
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

async function firstVault(vault: VaultService, owner: Subject, name: string): Promise<StoreCommit | undefined> {
  if (!vault.isUnsealed()) return undefined;
  return (await vault.prepareVault(owner, { name: name.slice(0, 200) })).commit;
}

async function purgeProvers(
  { service, sharing, proofJobs }: Pick<ProverRegistry, "service" | "sharing" | "proofJobs">,
  owner: Subject,
): Promise<void> {
  await proofJobs.jobs.purge(owner);
  await deleteAll(
    () => service.list(owner, PURGE_PAGE).body,
    (id) => service.delete(owner, id),
  );
  await sharing.leaveAll(owner);
}

async function purgeVaults(vault: VaultService, owner: Subject): Promise<void> {
  await deleteAll(
    () => vault.listVaults(owner, PURGE_PAGE).body,
    (id) => vault.deleteVault(owner, id),
  );
}

/** Deletes what a list returns until it is empty. */
async function deleteAll(
  list: () => readonly { readonly id: string }[],
  remove: (id: string) => Promise<void>,
): Promise<void> {
  for (let rows = list(); rows.length > 0; rows = list()) {
    for (const { id } of rows) await remove(id);
  }
}

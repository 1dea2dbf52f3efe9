import { join } from "node:path";
import { afterEach } from "vitest";
import { createIdentity, type Identity } from "../../src/identity/create-identity.js";
import type { UserJson } from "../../src/identity/schemas.js";
import type { IdentityOptions } from "../../src/identity/create-identity.js";
import type { Subject } from "../../src/platform/auth/principal.js";
import { eventCommit } from "../../src/platform/events/event-log.js";
import { openSigningKeys } from "../../src/platform/auth/signing-keys.js";
import type { SigningKeys } from "../../src/platform/auth/signing-keys.js";
import type { GrantHeaders } from "../../src/identity/tokens/token-grants.js";
import type { IdentityDependencies } from "../../src/identity/create-identity.js";
import type { MailMessage } from "../../src/platform/mail/mail.js";
import { notFound, type AppError } from "../../src/platform/errors.js";
import { References } from "../../src/platform/references.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import type { Store } from "../../src/platform/store/store.js";
import { HeldClock, quietLog, temporaryFolder } from "../platform/auth/support.js";
import { secretFile } from "../../src/platform/files/secret-file.js";

/** The smallest cost that Argon2 takes, so that the suite spends its time on behaviour. */
export const CHEAP_HASH = { memoryKiB: 8, passes: 1, lanes: 1 };
export const ADDRESS = "192.0.2.1";
/** The only network that does not exist here. */
export const ABSENT_NETWORK = "00000000-0000-4000-8000-000000000404";
export const PASSWORD = "a long phrase of my own";
export const ISSUER = "https://issuer.test";

export interface Harness {
  readonly clock: HeldClock;
  readonly identity: Identity;
  readonly store: Store;
  readonly folder: string;
  readonly keys: SigningKeys;
  /** Every mail that was sent, oldest first. */
  readonly mails: MailMessage[];
  /** What identity was built with, to build another over the same. */
  readonly parts: IdentityDependencies;
  /** Stops and opens everything anew over the same folder. */
  readonly restart: (options?: Partial<IdentityOptions>) => Promise<Harness>;
}

const openStores = new Set<Store>();

afterEach(async () => {
  await Promise.all([...openStores].map((store) => store.close()));
  openStores.clear();
});

/** Identity over a real store in a folder of its own, with a clock that stands. */
export async function openHarness(
  options: Partial<IdentityOptions> = {},
  kept?: { folder: string; clock: HeldClock },
  changes: Partial<IdentityDependencies> = {},
): Promise<Harness> {
  const { folder, clock } = kept ?? { folder: temporaryFolder(), clock: new HeldClock() };
  const store = await openStore({ path: join(folder, "store") }, { log: quietLog });
  openStores.add(store);
  const keys = await openSigningKeys({ file: secretFile(join(folder, "signing-keys.json")) }, { clock, log: quietLog });
  const mails: MailMessage[] = [];
  const mail = {
    send: (message: MailMessage) => {
      mails.push(message);
      return Promise.resolve();
    },
  };
  const references = new References();
  references.provide("network", (_subject, id) => {
    if (id === ABSENT_NETWORK) throw notFound("network");
  });
  const parts: IdentityDependencies = {
    store,
    keys,
    idTokenKeys: () => Promise.resolve(keys),
    clock,
    log: quietLog,
    mail,
    firstVault: () => Promise.resolve(undefined),
    references,
    purges: [],
    events: { commitOf: (drafts) => eventCommit(drafts, clock) },
    ...changes,
  };
  const identity = createIdentity(
    { issuer: ISSUER, hashCost: CHEAP_HASH, signupsPerHourMax: Infinity, ...options },
    parts,
  );
  const restart = async (changed: Partial<IdentityOptions> = options): Promise<Harness> => {
    openStores.delete(store);
    await store.close();
    return openHarness(changed, { folder, clock }, changes);
  };
  return { clock, identity, store, folder, keys, mails, parts, restart };
}

/** Headers of a request with this bearer. */
export function bearer(token?: string): GrantHeaders {
  return { bearer: token, authorization: undefined };
}

export async function signUp(harness: Harness, email: string, address = ADDRESS): Promise<UserJson> {
  return harness.identity.services.users.create(
    { email, first_name: "Ada", last_name: "Lovelace", password: PASSWORD },
    address,
  );
}

export async function logIn(harness: Harness, email: string, password = PASSWORD, address = ADDRESS, scope?: string) {
  return harness.identity.services.login.logIn({ email, password, ...(scope === undefined ? {} : { scope }) }, address);
}

export function subjectOf(user: { readonly id: string }): Subject {
  return { kind: "user", id: user.id };
}

/** The failure of a call as `[code, Retry-After]`, or "ok". */
export async function codeOf(call: () => unknown): Promise<string> {
  try {
    await call();
    return "ok";
  } catch (error) {
    return (error as AppError).code;
  }
}

/** Seconds of Retry-After of a call that must fail. */
export async function retryAfterOf(call: () => Promise<unknown>): Promise<number | undefined> {
  try {
    await call();
  } catch (error) {
    return (error as AppError).retryAfterSec;
  }
  throw new Error("the call was expected to fail");
}

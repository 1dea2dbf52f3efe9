/**
 * `proofwright create-admin`: creates an administrator in a stopped server's store, or makes an existing user one. The
 * password comes from the terminal or a pipe, never from an argument, which everybody on the machine can read.
 */
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createIdentity } from "../identity/create-identity.js";
import { openAuditKey } from "../platform/audit/audit-log.js";
import { createAudit } from "../platform/audit/create-audit.js";
import { ADMINISTRATOR_PERMISSIONS } from "../platform/auth/permissions.js";
import { ACCESS_TOKEN_KEY_FILE, openSigningKeys } from "../platform/auth/signing-keys.js";
import { systemClock } from "../platform/clock.js";
import { UNREACHABLE_ISSUER, type Config } from "../platform/config.js";
import { AppError } from "../platform/errors.js";
import { eventCommit } from "../platform/events/event-log.js";
import { createLog, type Log } from "../platform/log.js";
import { StartError } from "../platform/start-error.js";
import { openStore } from "../platform/store/lmdb/lmdb-store.js";
import type { Store } from "../platform/store/store.js";
import { asNode } from "./cluster/as-node.js";
import { readPhrases } from "./read-phrases.js";
import { References } from "../platform/references.js";
import { secretFile, type SecretFile } from "../platform/files/secret-file.js";

interface CreateAdminInput {
  readonly dataDir: string;
  /** The cluster in which the administrator is made, and not in a data folder. */
  readonly cluster?: Pick<Config, "database_url" | "cluster_key_file" | "store_max_mb">;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** Makes the existing user of this address an administrator. */
  readonly promote: boolean;
  /** From the terminal or a pipe unless given. */
  readonly readPassword?: () => Promise<Uint8Array>;
}

async function askPassword(): Promise<Uint8Array> {
  const [password] = await readPhrases(["password of the administrator"]);
  return password ?? new Uint8Array();
}

/** The address under which the limits of sign-up count this command. */
const LOCAL_ADDRESS = "127.0.0.1";

/**
 * Creates or promotes an administrator. Returns exit status 0.
 * @throws StartError when the user cannot be created or promoted, with the reason
 */
export async function runCreateAdmin(input: CreateAdminInput): Promise<number> {
  const log = createLog("error");
  if (input.cluster !== undefined)
    return await asNode(input.cluster, { name: "create-admin", log }, async (node) => await create(input, node, log));
  const dataDir = resolve(input.dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const auditKey = await openAuditKey(dataDir);
  const store = await openStore({ path: join(dataDir, "store"), chainKey: auditKey }, { log }).catch(throwStartError);
  try {
    return await create(input, { store, auditKey, secretOf: (name) => secretFile(join(dataDir, name)) }, log);
  } finally {
    await store.close();
  }
}

interface OpenedStore {
  readonly store: Store;
  readonly auditKey: Uint8Array;
  readonly secretOf: (name: string) => SecretFile;
}

async function create(input: CreateAdminInput, { store, auditKey, secretOf }: OpenedStore, log: Log): Promise<number> {
  const clock = systemClock;
  const audit = await createAudit({ key: auditKey }, { store, clock, log, onUnwritable: () => undefined });
  const keys = await openSigningKeys({ file: secretOf(ACCESS_TOKEN_KEY_FILE) }, { clock, log });
  const noMail = { send: () => Promise.resolve() };
  const { services } = createIdentity(
    { issuer: UNREACHABLE_ISSUER },
    {
      store: audit.identityStore,
      keys,
      idTokenKeys: () => Promise.resolve(keys),
      clock,
      log,
      mail: noMail,
      firstVault: () => Promise.resolve(undefined),
      references: new References(),
      purges: [],
      events: { commitOf: (drafts) => eventCommit(drafts, clock) },
    },
  );
  const words = await audit.trail
    .run({ action: "service.create_admin" }, "durable", {
      work: async () => {
        if (input.promote) {
          await services.bootstrap.makeAdministrator(input.email);
          return "is an administrator now; the tokens that the user had are void";
        }
        const password = await (input.readPassword ?? askPassword)();
        const { id } = await services.users.create(
          {
            email: input.email,
            first_name: input.firstName,
            last_name: input.lastName,
            password: Buffer.from(password).toString("utf8"),
          },
          LOCAL_ADDRESS,
          { permissions: ADMINISTRATOR_PERMISSIONS, skipsHourlyLimit: true },
        );
        return `is an administrator, user ${id}`;
      },
    })
    .catch(throwStartError);
  process.stdout.write(`${input.email} ${words}.\n`);
  return 0;
}

/** Turns an error that the operator can correct into a message without a stack. */
function throwStartError(error: unknown): never {
  if (error instanceof AppError && error.status < 500) throw new StartError(`${error.message}.`, { cause: error });
  throw error;
}

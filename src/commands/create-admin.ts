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
import { UNREACHABLE_ISSUER } from "../platform/config.js";
import { AppError } from "../platform/errors.js";
import { eventCommit } from "../platform/events/event-log.js";
import { createLog } from "../platform/log.js";
import { StartError } from "../platform/start-error.js";
import { openStore } from "../platform/store/lmdb/lmdb-store.js";
import { readPhrases } from "./read-phrases.js";
import { References } from "../platform/references.js";
import { secretFile } from "../platform/files/secret-file.js";

interface CreateAdminInput {
  readonly dataDir: string;
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
  const dataDir = resolve(input.dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const log = createLog("error");
  const clock = systemClock;
  const auditKey = await openAuditKey(dataDir);
  const store = await openStore({ path: join(dataDir, "store"), chainKey: auditKey }, { log }).catch(throwStartError);
  try {
    const audit = await createAudit({ key: auditKey }, { store, clock, log, onUnwritable: () => undefined });
    const keys = await openSigningKeys({ file: secretFile(join(dataDir, ACCESS_TOKEN_KEY_FILE)) }, { clock, log });
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
  } finally {
    await store.close();
  }
}

/** Turns an error that the operator can correct into a message without a stack. */
function throwStartError(error: unknown): never {
  if (error instanceof AppError && error.status < 500) throw new StartError(`${error.message}.`, { cause: error });
  throw error;
}

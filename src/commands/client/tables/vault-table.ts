/** Vaults with their keys and secrets, and the seal. */
import type { CommandSpec, OptionSpec } from "../command-spec.js";
import { LIMIT, answering, limited, wholeNumber } from "../command-spec.js";
import { tableOf } from "../print-records.js";

const RECOVERY_DAYS = { min: 1, max: 365, byDefault: 30 } as const;
const DESCRIPTION: OptionSpec = { flag: "--description <text>", summary: "for people" };
const RECOVERY: OptionSpec = {
  flag: "--recovery-days <days>",
  summary: `days in which it can be restored, ${String(RECOVERY_DAYS.min)} to ${String(RECOVERY_DAYS.max)}`,
  byDefault: String(RECOVERY_DAYS.byDefault),
};

/** The commands of vaults. */
export const VAULT_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "vault create <name>",
    summary: "make a vault",
    options: [DESCRIPTION],
    run: answering(async (client, input) =>
      client.vaults.create({ name: input.argument(0), ...input.members({ description: "description" }) }),
    ),
  },
  {
    usage: "vault list",
    summary: "list the vaults",
    options: [LIMIT],
    run: answering(
      async (client, input) => limited(client.vaults.list(), input),
      tableOf(
        ["id", "name", "description", "deletes_at"],
        "There is no vault. `proofwright vault create NAME` makes one.",
      ),
    ),
  },
  {
    usage: "vault show <vault>",
    summary: "show a vault",
    run: answering(async (client, input) => client.vaults.get(input.argument(0))),
  },
  {
    usage: "vault delete <vault>",
    summary: "plan the deletion of a vault with its keys and secrets",
    options: [RECOVERY],
    run: answering(async (client, input) =>
      client.vaults.scheduleDeletion(input.argument(0), await recoveryOf(input.required("recoveryDays"))),
    ),
  },
  {
    usage: "vault restore <vault>",
    summary: "take a planned deletion back",
    run: answering(async (client, input) => client.vaults.restore(input.argument(0))),
  },
  {
    usage: "vault jwks <vault>",
    summary: "show the public keys of a vault as a JWK set",
    run: answering(
      async (client, input) => client.vaults.jwks(input.argument(0)),
      (set) => [JSON.stringify(set, null, 2)],
    ),
  },
];

/** The commands of keys. */
export const KEY_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "key create <vault> <name>",
    summary: "make a key, which never leaves the vault",
    options: [
      { flag: "--spec <spec>", summary: "such as Ed25519, secp256k1, BIP39, AES-256-GCM, RSA-4096", isRequired: true },
      DESCRIPTION,
    ],
    run: answering(async (client, input) =>
      client.keys.create(input.argument(0), {
        ...{ name: input.argument(1), spec: input.required("spec") },
        ...input.members({ description: "description" }),
      }),
    ),
  },
  {
    usage: "key list <vault>",
    summary: "list the keys of a vault",
    options: [LIMIT],
    run: answering(
      async (client, input) => limited(client.keys.list(input.argument(0)), input),
      tableOf(["id", "spec", "usage", "name", "address", "deletes_at"], "The vault has no key."),
    ),
  },
  {
    usage: "key show <vault> <key>",
    summary: "show a key, without what is secret",
    run: answering(async (client, input) => client.keys.get(input.argument(0), input.argument(1))),
  },
  {
    usage: "key rotate <vault> <key>",
    summary: "make a new version of a key",
    run: answering(async (client, input) => client.keys.rotate(input.argument(0), input.argument(1))),
  },
  {
    usage: "key disable <vault> <key>",
    summary: "forbid the use of a key",
    run: answering(async (client, input) => client.keys.disable(input.argument(0), input.argument(1))),
  },
  {
    usage: "key enable <vault> <key>",
    summary: "allow the use of a key again",
    run: answering(async (client, input) => client.keys.enable(input.argument(0), input.argument(1))),
  },
  {
    usage: "key delete <vault> <key>",
    summary: "plan the deletion of a key",
    options: [RECOVERY],
    run: answering(async (client, input) =>
      client.keys.scheduleDeletion(
        input.argument(0),
        input.argument(1),
        await recoveryOf(input.required("recoveryDays")),
      ),
    ),
  },
  {
    usage: "key restore <vault> <key>",
    summary: "take a planned deletion back",
    run: answering(async (client, input) => client.keys.restore(input.argument(0), input.argument(1))),
  },
  {
    usage: "key verify <vault> <key>",
    summary: "verify a signature of a key",
    options: [
      { flag: "--signature <hex>", summary: "what `sign` printed", isRequired: true },
      ...messageOptions("the message was"),
    ],
    run: async (input) => (await import("../signature-commands.js")).runVerifySignature(input),
  },
  {
    usage: "sign <vault> <key>",
    summary: "sign a message with a key of a vault",
    options: messageOptions("the message is"),
    run: async (input) => (await import("../signature-commands.js")).runSign(input),
  },
];

/** The commands of secrets. */
export const SECRET_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "secret create <vault> <name>",
    summary: "store a secret; its value is asked for without showing it, or read whole from a pipe",
    options: [
      { flag: "--type <word>", summary: "what it is", byDefault: "secret" },
      { flag: "--value-file <file>", summary: "a file that has the value" },
      DESCRIPTION,
    ],
    run: async (input) => (await import("../secret-commands.js")).runSecretCreate(input),
  },
  {
    usage: "secret list <vault>",
    summary: "list the secrets of a vault, without their values",
    options: [LIMIT],
    run: answering(
      async (client, input) => limited(client.secrets.list(input.argument(0)), input),
      tableOf(["id", "type", "name", "description", "deletes_at"], "The vault has no secret."),
    ),
  },
  {
    usage: "secret read <vault> <secret>",
    summary: "write the value of a secret into a pipe or a file; a terminal gets it with --show only",
    options: [
      { flag: "--output <file>", summary: "a new file that only its user may read" },
      { flag: "--show", summary: "print it on the terminal" },
    ],
    run: async (input) => (await import("../secret-commands.js")).runSecretRead(input),
  },
  {
    usage: "secret delete <vault> <secret>",
    summary: "plan the deletion of a secret",
    options: [RECOVERY],
    run: answering(async (client, input) =>
      client.secrets.scheduleDeletion(
        input.argument(0),
        input.argument(1),
        await recoveryOf(input.required("recoveryDays")),
      ),
    ),
  },
  {
    usage: "secret restore <vault> <secret>",
    summary: "take a planned deletion back",
    run: answering(async (client, input) => client.secrets.restore(input.argument(0), input.argument(1))),
  },
];

const SEAL_KEY: OptionSpec = {
  flag: "--key-file <file>",
  summary: "a file that has the 24 words; asked for otherwise",
};

/** The commands of the seal. */
export const SEAL_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "unseal",
    summary: "unseal the vaults with the 24 words, which are asked for without showing them, or a line from a pipe",
    options: [SEAL_KEY],
    run: async (input) => (await import("../secret-commands.js")).runUnseal(input),
  },
  {
    usage: "seal now",
    summary: "seal the vaults; nobody uses a key until they are unsealed with the 24 words",
    options: [SEAL_KEY],
    run: async (input) => (await import("../secret-commands.js")).runSeal(input),
  },
  {
    usage: "seal status",
    summary: "say whether the vaults are sealed",
    run: answering(async (client) => client.seal.status()),
  },
];

/** The options that tell a message to sign. */
function messageOptions(what: string): readonly OptionSpec[] {
  return [
    { flag: "--message <text>", summary: `${what} this text` },
    { flag: "--file <file>", summary: `${what} in this file, /dev/stdin for a pipe; one of the two is required` },
    {
      flag: "--format <format>",
      summary: "form of the message; of eip712, transaction and authorization it is JSON",
      byDefault: "raw",
      values: ["raw", "personal_sign", "eip712", "transaction", "authorization", "jws"],
    },
    { flag: "--digest <hash>", summary: "hash of a raw message", values: ["none", "keccak256", "sha256"] },
    { flag: "--algorithm <name>", summary: "of RSA keys, such as PS256" },
    { flag: "--path <path>", summary: "derivation path of BIP39 keys, such as m/44'/60'/0'/0/0" },
  ];
}

async function recoveryOf(days: string): Promise<{ recovery_days: number }> {
  return { recovery_days: await wholeNumber(days, "--recovery-days", RECOVERY_DAYS) };
}

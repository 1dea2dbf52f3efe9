/** `proofwright ceremony contribute` and `proofwright ceremony verify`: their arguments. */
import { parseArgs } from "node:util";
import { ConfigError } from "../../platform/config.js";
import { runContribute } from "./contribute-command.js";
import type { SigningKey } from "./sign-statement.js";
import { readVaultKey } from "./vault-signature.js";
import { runVerify } from "./verify-command.js";

const KEYS = { "ssh-key": "ssh", "ethereum-key-file": "ethereum", "ed25519-key-file": "ed25519" } as const;
/** The token for a vault; not a flag, which every process of the machine could read. */
const TOKEN_VARIABLE = "PROOFWRIGHT_TOKEN";
const TEXT = { type: "string" } as const;

/**
 * Runs the subcommand. Returns its exit status.
 * @throws ConfigError for arguments that it does not take
 */
export async function runCeremonyCommand(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<number> {
  const [action, ...rest] = args;
  if (action === "contribute") return await contribute(rest, env);
  if (action === "verify") return await verify(rest);
  throw new ConfigError("ceremony needs `contribute` or `verify`; see `proofwright ceremony --help`.");
}

async function contribute(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      ...{ name: TEXT, "invitation-file": TEXT, "entropy-file": TEXT, "statement-file": TEXT, "session-file": TEXT },
      ...{ "ssh-key": TEXT, "ethereum-key-file": TEXT, "ed25519-key-file": TEXT, "vault-key": TEXT, github: TEXT },
    },
    allowPositionals: true,
    strict: true,
  });
  const [url, ...more] = positionals;
  if (url === undefined || more.length > 0) throw new ConfigError("ceremony contribute takes one URL.");
  const keys = (Object.keys(KEYS) as (keyof typeof KEYS)[]).flatMap((flag): SigningKey[] => {
    const path = values[flag];
    return path === undefined ? [] : [{ kind: KEYS[flag], path }];
  });
  const vaultKey = values["vault-key"];
  if (vaultKey !== undefined) keys.push(readVaultKey(vaultKey, env[TOKEN_VARIABLE]));
  if (keys.length > 1) throw new ConfigError("a contribution is signed by one key.");
  const [key] = keys;
  const { github } = values;
  if (github !== undefined && key?.kind !== "ssh") throw new ConfigError("--github goes with --ssh-key.");
  return await runContribute({
    ...{ url, name: values.name, invitationFile: values["invitation-file"], entropyFile: values["entropy-file"] },
    ...{ statementFile: values["statement-file"], sessionFile: values["session-file"] },
    key: key?.kind === "ssh" && github !== undefined ? { ...key, github } : key,
  });
}

async function verify(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      ...{ transcript: TEXT, zkey: TEXT, "initial-key": TEXT, r1cs: TEXT, ptau: TEXT, "verifying-key": TEXT },
      "github-keys": TEXT,
    },
    allowPositionals: true,
    strict: true,
  });
  const [from, ...more] = positionals;
  if (more.length > 0) throw new ConfigError("ceremony verify takes one folder or URL.");
  return await runVerify({
    ...{ from, transcript: values.transcript, zkey: values.zkey, initialKey: values["initial-key"] },
    ...{ r1cs: values.r1cs, powersOfTau: values.ptau, verifyingKey: values["verifying-key"] },
    githubKeys: values["github-keys"],
  });
}

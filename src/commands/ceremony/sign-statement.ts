/** Signs the statement of a contribution by a key of its contributor: from a file, which is wiped, or in a vault. */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { addressOfPublicKey } from "../../crypto/ethereum/address.js";
import { personalDigest } from "../../crypto/ethereum/personal-message.js";
import { ed25519PrivateKey, okpPublicKey, signEd25519 } from "../../crypto/signatures/ed25519.js";
import { SSH_NAMESPACE, findStatementFault, type SignedStatement } from "../../crypto/signatures/signed-statement.js";
import { StartError } from "../../platform/start-error.js";
import { signByVault, type VaultKey } from "./vault-signature.js";

/** The file of the key, by its kind. */
export interface SigningKeyFile {
  readonly kind: "ssh" | "ethereum" | "ed25519";
  readonly path: string;
  /** Whose SSH key it is said to be. */
  readonly github?: string | undefined;
}

export type SigningKey = SigningKeyFile | VaultKey;

/** As the server takes it. */
export type SentStatement = SignedStatement & { readonly github?: string };

const KEY_BYTES = 32;
const HEX_KEY = /^\s*(?:0x)?([0-9a-fA-F]{64})\s*$/;
const OUTPUT_CHARACTERS_MAX = 16_384;

/**
 * Returns the statement as the server takes it.
 * @throws StartError when the file holds no such key, ssh-keygen fails, or the vault's server refuses
 */
export async function signStatement(text: string, key: SigningKey): Promise<SentStatement> {
  const statement = key.kind === "vault" ? await signByVault(text, key) : await signed(text, key);
  const fault = findStatementFault(statement, text);
  if (fault !== undefined) throw new StartError(`the signature that was made does not hold: ${fault}.`);
  return key.kind === "vault" || key.github === undefined ? statement : { ...statement, github: key.github };
}

async function signed(text: string, { kind, path }: SigningKeyFile): Promise<SignedStatement> {
  if (kind === "ssh") return await signBySsh(text, path);
  const message = Buffer.from(text, "utf8");
  const secret = await readHexKey(path);
  try {
    if (kind === "ed25519") {
      const key = ed25519PrivateKey(secret);
      const publicKey = Buffer.from(okpPublicKey("ed25519", key)).toString("hex");
      return { kind, public_key: publicKey, signature: Buffer.from(signEd25519(key, message)).toString("hex") };
    }
    if (!secp256k1.utils.isValidSecretKey(secret)) throw new StartError(`${path} holds no key of Ethereum.`);
    const [v = 0, ...rs] = secp256k1.sign(personalDigest(message), secret, { prehash: false, format: "recovered" });
    const signature = `0x${Buffer.from([...rs, 27 + v]).toString("hex")}`;
    return { kind, address: addressOfPublicKey(secp256k1.getPublicKey(secret, false)), signature };
  } finally {
    secret.fill(0);
  }
}

async function signBySsh(text: string, path: string): Promise<SignedStatement> {
  const publicLine = path.endsWith(".pub") ? await readFile(path, "utf8") : await sshKeygen(["-y", "-f", path]);
  const publicKey = publicLine.trim().split(/\s+/).slice(0, 2).join(" ");
  if (!publicKey.startsWith("ssh-ed25519 "))
    throw new StartError(`${path} is no Ed25519 key of SSH; statements are signed by \`ssh-keygen -t ed25519\` keys.`);
  const signature = await sshKeygen(["-Y", "sign", "-n", SSH_NAMESPACE, "-f", path], text);
  return { kind: "ssh", public_key: publicKey, signature };
}

/** ssh-keygen asks for a passphrase on the terminal by itself. */
async function sshKeygen(args: readonly string[], input?: string): Promise<string> {
  const child = spawn("ssh-keygen", args, { stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output = (output + chunk).slice(0, OUTPUT_CHARACTERS_MAX);
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(input ?? "");
  const code = await new Promise<number | string | null>((resolve) => {
    child.once("error", (error) => {
      resolve(error.message);
    });
    child.once("close", resolve);
  });
  if (code !== 0) throw new StartError(`ssh-keygen failed (${String(code)}).`);
  return output;
}

async function readHexKey(path: string): Promise<Uint8Array> {
  const content = await readFile(path);
  const digits = HEX_KEY.exec(content.toString("latin1"))?.[1];
  content.fill(0);
  if (digits === undefined) throw new StartError(`${path} does not hold a key: 64 hex digits.`);
  const key = new Uint8Array(KEY_BYTES);
  key.set(Buffer.from(digits, "hex"));
  return key;
}

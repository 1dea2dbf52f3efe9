/**
 * Signs a statement by a key of a vault, through the API of the server that has it: the key stays there. The token goes
 * to that server alone, which need not be the ceremony's.
 */
import { recoverAddress } from "../../crypto/ethereum/recovered-address.js";
import type { SignedStatement } from "../../crypto/signatures/signed-statement.js";
import { StartError } from "../../platform/start-error.js";

/** A key of a vault, and what lets a person sign by it. */
export interface VaultKey {
  readonly kind: "vault";
  /** Of the key: `https://HOST/api/v1/vaults/ID/keys/ID`, also below an organization. */
  readonly url: string;
  /** A bearer token that may use the vault. */
  readonly token: string;
}

/** What of a key record its user needs. */
interface KeyRecord {
  readonly spec?: unknown;
  readonly public_key?: unknown;
}

const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const KEY_PATH = new RegExp(`/api/v1/(organizations/${UUID}/)?vaults/${UUID}/keys/${UUID}$`, "i");
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);
const REQUEST_MS = 30_000;
const ANSWER_CHARACTERS_MAX = 65_536;
const ERROR_CHARACTERS_MAX = 500;
/** Of an OAuth token, or one that an administrator made; no line breaks, which would end the header. */
const TOKEN = /^[\u0021-\u007e]{1,4096}$/;

/**
 * Reads the address of a vault's key and the token for it.
 * @throws StartError for other text, for a connection that anybody could read, and without a token
 */
export function readVaultKey(text: string, token: string | undefined): VaultKey {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (url === undefined || !isPlain || !/^https?:$/.test(url.protocol) || !KEY_PATH.test(url.pathname))
    throw new StartError(`"${text}" is no address of a vault's key: https://HOST/api/v1/vaults/ID/keys/ID.`);
  if (url.protocol === "http:" && !LOOPBACK.has(url.hostname))
    throw new StartError("the token for a vault goes over https only, or to this machine.");
  if (token === undefined || !TOKEN.test(token))
    throw new StartError("a vault's key signs with a token: put it into the environment as PROOFWRIGHT_TOKEN.");
  return { kind: "vault", url: url.href, token };
}

/**
 * Returns the key's signature of the text, in the form that its kind has in statements.
 * @throws StartError when the server refuses, or the key is of a kind that signs no statements
 */
export async function signByVault(text: string, key: VaultKey): Promise<SignedStatement> {
  const { spec, public_key: publicKey } = (await ask(key, "GET", "")) as KeyRecord;
  const message = Buffer.from(text, "utf8");
  const hex = message.toString("hex");
  switch (String(spec).toLowerCase()) {
    case "ed25519":
    case "p-256": {
      const kind = String(spec).toLowerCase() === "ed25519" ? "ed25519" : "p256";
      const signature = await signatureOf(key, { message: hex });
      return { kind, public_key: plainHex(publicKey), signature };
    }
    case "secp256k1":
    case "bip39": {
      const signature = await signatureOf(key, { message: hex, options: { format: "personal_sign" } });
      const address = recoverAddress(message, Buffer.from(signature, "hex"));
      if (address === undefined) throw new StartError("the vault's server answered with no signature of Ethereum.");
      return { kind: "ethereum", address, signature: `0x${signature}` };
    }
    default:
      throw new StartError(
        "statements are signed by keys of the specs Ed25519, P-256, secp256k1 and BIP39; the vault's key is none.",
      );
  }
}

async function signatureOf(key: VaultKey, body: object): Promise<string> {
  const { signature } = (await ask(key, "POST", "/sign", body)) as { readonly signature?: unknown };
  return plainHex(signature);
}

function plainHex(value: unknown): string {
  const digits = typeof value === "string" ? value.replace(/^0x/, "").toLowerCase() : "";
  if (!/^([0-9a-f]{2})+$/.test(digits)) throw new StartError("the vault's server answered otherwise than vaults do.");
  return digits;
}

async function ask({ url, token }: VaultKey, method: string, path: string, body?: object): Promise<unknown> {
  let status: number;
  let text: string;
  try {
    const answer = await fetch(url + path, {
      ...{ method, redirect: "error", signal: AbortSignal.timeout(REQUEST_MS) },
      headers: {
        authorization: `bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    status = answer.status;
    text = (await answer.text()).slice(0, ANSWER_CHARACTERS_MAX);
  } catch (error) {
    throw new StartError(`the vault's server cannot be reached: ${error instanceof Error ? error.message : ""}.`);
  }
  const answered = parsed(text);
  if (status >= 200 && status < 300 && typeof answered === "object" && answered !== null) return answered;
  throw new StartError(`the vault's server refused: ${messageOf(answered) ?? `it answered ${String(status)}`}.`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function messageOf(answer: unknown): string | undefined {
  const { errors } = (answer ?? {}) as { readonly errors?: readonly { readonly message?: unknown }[] };
  const message = Array.isArray(errors)
    ? (errors[0] as { readonly message?: unknown } | undefined)?.message
    : undefined;
  return typeof message === "string" ? message.slice(0, ERROR_CHARACTERS_MAX) : undefined;
}

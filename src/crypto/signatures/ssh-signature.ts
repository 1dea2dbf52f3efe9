/**
 * Signatures of `ssh-keygen -Y sign` by Ed25519 keys: the format SSHSIG (OpenSSH, PROTOCOL.sshsig), keys as RFC 8709
 * and lists of strings as RFC 4251 write them.
 *
 *   armor: "-----BEGIN SSH SIGNATURE-----", base64 in lines, "-----END SSH SIGNATURE-----"
 *   blob: "SSHSIG" || version u32 1 || public key || namespace || reserved || hash's name || signature
 *   signed: "SSHSIG" || namespace || reserved || hash's name || hash of the message
 */
import { createHash } from "node:crypto";
import { publicKeyOfRaw } from "./der-keys.js";
import { isEd25519PublicKey, verifyEd25519 } from "./ed25519.js";

const MAGIC = "SSHSIG";
const VERSION = 1;
const KEY_TYPE = "ssh-ed25519";
const ARMOR = /^-----BEGIN SSH SIGNATURE-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END SSH SIGNATURE-----\s*$/;
const HASHES = ["sha256", "sha512"] as const;

/** A text that is no signature of this form; a reader ends with it. */
class SshFormatError extends Error {
  override readonly name = "SshFormatError";
}

/**
 * Returns whether the key has signed the message under the namespace; false for anything malformed.
 * @param publicKey `ssh-ed25519 ` and base64, as a line of `authorized_keys` without options and comment
 * @param signature armored
 */
export function verifySshSignature(
  publicKey: string,
  signature: string,
  { message, namespace }: { readonly message: Uint8Array; readonly namespace: string },
): boolean {
  try {
    const key = readPublicKey(publicKey);
    const blob = ARMOR.exec(signature)?.[1];
    if (blob === undefined) return false;
    const reader = new Reader(Buffer.from(blob, "base64"));
    if (reader.take(MAGIC.length).toString("latin1") !== MAGIC || reader.u32() !== VERSION) return false;
    const [signer, said, reserved, hashName] = [reader.string(), reader.string(), reader.string(), reader.string()];
    const bytes = readSignature(reader.string());
    if (!reader.isAtEnd || !signer.equals(key.blob) || said.toString("utf8") !== namespace) return false;
    const hash = HASHES.find((name) => name === hashName.toString("latin1"));
    const publicObject = publicKeyOfRaw("ed25519", key.raw);
    if (hash === undefined || publicObject === undefined) return false;
    const digest = createHash(hash).update(message).digest();
    const signed = Buffer.concat([Buffer.from(MAGIC), ...[said, reserved, hashName, digest].map(withLength)]);
    return verifyEd25519(publicObject, signed, bytes);
  } catch (error) {
    if (error instanceof SshFormatError) return false;
    throw error;
  }
}

function readPublicKey(text: string): { readonly blob: Buffer; readonly raw: Buffer } {
  const [type, base64 = ""] = text.split(" ");
  const blob = Buffer.from(base64, "base64");
  const reader = new Reader(blob);
  const [inner, raw] = [reader.string(), reader.string()];
  if (type !== KEY_TYPE || inner.toString("latin1") !== KEY_TYPE || !reader.isAtEnd || !isEd25519PublicKey(raw))
    throw new SshFormatError("not an Ed25519 key");
  return { blob, raw };
}

function readSignature(bytes: Buffer): Buffer {
  const reader = new Reader(bytes);
  const [type, signature] = [reader.string(), reader.string()];
  if (type.toString("latin1") !== KEY_TYPE || !reader.isAtEnd) throw new SshFormatError("not an Ed25519 signature");
  return signature;
}

function withLength(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(count: number): Buffer {
    if (count > this.#bytes.length - this.#at) throw new SshFormatError("the bytes end too early");
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  u32(): number {
    return this.take(4).readUInt32BE();
  }

  string(): Buffer {
    return this.take(this.u32());
  }
}

/** Statements of contributors, signed by SSH keys. */
import { createHash, sign, type KeyObject } from "node:crypto";

/** Signs as `ssh-keygen -Y sign -n proofwright-ceremony` does (OpenSSH, PROTOCOL.sshsig). */
export function signBySsh(
  text: string,
  privateKey: KeyObject,
  publicKey: KeyObject,
): { readonly kind: "ssh"; readonly text: string; readonly public_key: string; readonly signature: string } {
  const field = (bytes: Uint8Array | string): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.from(bytes).length);
    return Buffer.concat([length, Buffer.from(bytes)]);
  };
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const key = Buffer.concat([field("ssh-ed25519"), field(raw)]);
  const frame = [field("proofwright-ceremony"), field(""), field("sha512")];
  const hash = createHash("sha512").update(text).digest();
  const signature = sign(null, Buffer.concat([Buffer.from("SSHSIG"), ...frame, field(hash)]), privateKey);
  const signed = field(Buffer.concat([field("ssh-ed25519"), field(signature)]));
  const version = Buffer.from([0, 0, 0, 1]);
  const lines = Buffer.concat([Buffer.from("SSHSIG"), version, field(key), ...frame, signed])
    .toString("base64")
    .replaceAll(/(.{70})/g, "$1\n");
  return {
    ...{ kind: "ssh" as const, text, public_key: `ssh-ed25519 ${key.toString("base64")}` },
    signature: `-----BEGIN SSH SIGNATURE-----\n${lines}\n-----END SSH SIGNATURE-----\n`,
  };
}

/** Signed statements, by the tools that people sign with: OpenSSH's ssh-keygen 9, viem, and OpenSSL through Node. */
import { generateKeyPairSync, sign } from "node:crypto";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { findStatementFault, type SignedStatement } from "../../../src/crypto/signatures/signed-statement.js";

const TEXT = "I contributed.\nceremony: 1";
/** Made by `ssh-keygen -Y sign -n proofwright-ceremony -f key text`. */
const SSH = {
  kind: "ssh",
  public_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICWDqF/YBCBM0mFyMaSzCcl5AJAPbB9L+UbvU2estXr7",
  signature: `-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgJYOoX9gEIEzSYXIxpLMJyXkAkA
9sH0v5Ru9TZ6y1evsAAAAUcHJvb2Z3cmlnaHQtY2VyZW1vbnkAAAAAAAAABnNoYTUxMgAA
AFMAAAALc3NoLWVkMjU1MTkAAABAkkGHJGPqONNwAAIQDylZ68RA4NruqOzGFS0XMNFsRX
QDLdyZkh9xJOL3WgGFQN7PmdWOepi6+cjAwX2m3NncCA==
-----END SSH SIGNATURE-----
`,
} as const satisfies SignedStatement;
/** The same key over the same text with `-n other`. */
const SSH_OF_OTHER_USE = `-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgJYOoX9gEIEzSYXIxpLMJyXkAkA
9sH0v5Ru9TZ6y1evsAAAAFb3RoZXIAAAAAAAAABnNoYTUxMgAAAFMAAAALc3NoLWVkMjU1
MTkAAABAP6PsX1cAY2uy7i7/d+SRrRTOi3rdauK+3bzBtezv32uCe1DYykyfi83gKpvqwy
7NYe+rTLLHmZNrYMW6tN5/Dw==
-----END SSH SIGNATURE-----
`;

const holds = (statement: SignedStatement, text = TEXT): boolean => findStatementFault(statement, text) === undefined;

describe("a statement signed by an SSH key", () => {
  it("holds as ssh-keygen has signed it, for its text, its key and its use alone", () => {
    expect(holds(SSH)).toBe(true);
    expect(holds({ ...SSH, signature: SSH.signature.replaceAll("\n", "\r\n") })).toBe(true);
    expect(holds(SSH, `${TEXT}\n`)).toBe(false);
    expect(holds({ ...SSH, signature: SSH_OF_OTHER_USE })).toBe(false);
    const other = generateKeyPairSync("ed25519").publicKey.export({ format: "der", type: "spki" }).subarray(-32);
    const blob = Buffer.concat([Buffer.from(SSH.public_key.split(" ")[1]!, "base64").subarray(0, 19), other]);
    expect(holds({ ...SSH, public_key: `ssh-ed25519 ${blob.toString("base64")}` })).toBe(false);
  });

  it("does not hold in any damaged form, and never throws", () => {
    const [head, ...lines] = SSH.signature.trim().split("\n");
    const blob = Buffer.from(lines.slice(0, -1).join(""), "base64");
    const armored = (bytes: Uint8Array): string =>
      `${head!}\n${Buffer.from(bytes).toString("base64")}\n${lines.at(-1)!}\n`;
    expect(holds({ ...SSH, signature: armored(blob) })).toBe(true);
    for (let at = 0; at < blob.length; at += 1) {
      const flipped = Uint8Array.from(blob);
      flipped[at] = flipped[at]! ^ 1;
      expect(holds({ ...SSH, signature: armored(flipped) }), `byte ${String(at)}`).toBe(false);
      expect(holds({ ...SSH, signature: armored(blob.subarray(0, at)) }), `cut at ${String(at)}`).toBe(false);
    }
    for (const text of ["", "-----BEGIN SSH SIGNATURE-----", SSH.signature.slice(1)])
      expect(holds({ ...SSH, signature: text })).toBe(false);
    for (const key of ["", "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-rsa AAAAC3NzaC1lZDI1NTE5"])
      expect(holds({ ...SSH, public_key: key })).toBe(false);
  });
});

describe("a statement signed by a wallet", () => {
  it("holds as viem has signed it, for its text and address alone", async () => {
    const [account, other] = [privateKeyToAccount(generatePrivateKey()), privateKeyToAccount(generatePrivateKey())];
    const signature = await account.signMessage({ message: TEXT });
    const statement = { kind: "ethereum", address: account.address, signature } as const;
    expect(holds(statement)).toBe(true);
    expect(holds({ ...statement, address: account.address.toLowerCase() })).toBe(true);
    expect(holds(statement, "another text")).toBe(false);
    expect(holds({ ...statement, address: other.address })).toBe(false);
    for (const damaged of [`${signature.slice(0, -2)}1d`, signature.slice(0, -2), `0x${"00".repeat(65)}`, "0x"])
      expect(holds({ ...statement, signature: damaged })).toBe(false);
  });

  it("does not hold with a high s, which is a second form of the same signature", async () => {
    const account = privateKeyToAccount(generatePrivateKey());
    const bytes = Buffer.from((await account.signMessage({ message: TEXT })).slice(2), "hex");
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const s = order - BigInt(`0x${bytes.subarray(32, 64).toString("hex")}`);
    const v = bytes[64] === 27 ? "1c" : "1b";
    const signature = `0x${bytes.subarray(0, 32).toString("hex")}${s.toString(16).padStart(64, "0")}${v}`;
    expect(holds({ kind: "ethereum", address: account.address, signature })).toBe(false);
  });
});

describe("a statement signed by an Ed25519 key", () => {
  it("holds for its text and key alone, and not for a key of low order", () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const public_key = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("hex");
    const signature = sign(null, Buffer.from(TEXT), privateKey).toString("hex");
    expect(holds({ kind: "ed25519", public_key, signature })).toBe(true);
    expect(holds({ kind: "ed25519", public_key, signature }, "another text")).toBe(false);
    const lowOrder = `01${"00".repeat(31)}`;
    expect(holds({ kind: "ed25519", public_key: lowOrder, signature: `${lowOrder}${"00".repeat(32)}` })).toBe(false);
  });
});

describe("a statement signed by a P-256 key", () => {
  it("holds for its text and key alone, and not for points off the curve", () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const public_key = publicKey.export({ format: "der", type: "spki" }).subarray(-65).toString("hex");
    const key = { key: privateKey, dsaEncoding: "ieee-p1363" } as const;
    const signature = sign("sha256", Buffer.from(TEXT), key).toString("hex");
    expect(holds({ kind: "p256", public_key, signature })).toBe(true);
    expect(holds({ kind: "p256", public_key, signature }, "another text")).toBe(false);
    expect(holds({ kind: "p256", public_key, signature: signature.slice(2) })).toBe(false);
    expect(holds({ kind: "p256", public_key, signature: "00".repeat(64) })).toBe(false);
    expect(holds({ kind: "p256", public_key: `04${"11".repeat(64)}`, signature })).toBe(false);
    expect(holds({ kind: "p256", public_key: public_key.replace(/^04/, "06"), signature })).toBe(false);
  });
});

/** Statements signed by keys of a vault, through the HTTP API of a real one. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { runCeremonyCommand } from "../../src/commands/ceremony/ceremony-command.js";
import { signStatement } from "../../src/commands/ceremony/sign-statement.js";
import { readVaultKey, type VaultKey } from "../../src/commands/ceremony/vault-signature.js";
import { findStatementFault } from "../../src/crypto/signatures/signed-statement.js";
import { startVaultServer, type VaultServer } from "../vault/http-support.js";

const TEXT = "I contributed.\nceremony: 1\nname: Zoë";
const KEY_URL =
  "https://vault.example/api/v1/vaults/7a4c1f2e-0000-4000-8000-00000000000a/keys/7a4c1f2e-0000-4000-8000-00000000000b";
const CEREMONY_URL = "https://ceremony.example/api/v1/ceremonies/7a4c1f2e-0000-4000-8000-00000000000c";

describe("a statement signed by a vault's key", () => {
  let server: VaultServer;
  let token: string;

  beforeAll(async () => {
    server = await startVaultServer();
    token = server.token();
  });
  afterAll(async () => {
    await server.close();
  });

  const keyOf = async (spec: string, owner = token): Promise<VaultKey> => {
    const vault = await server.call("POST", "/api/v1/vaults", { name: "statements" }, owner);
    const path = `/api/v1/vaults/${String(vault.body["id"])}/keys`;
    const body = { name: "statement", type: "asymmetric", usage: "sign/verify", spec };
    const made = await server.call("POST", path, body, owner);
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    return readVaultKey(`http://${server.host}${path}/${String(made.body["id"])}`, owner);
  };

  it.each([
    ["Ed25519", "ed25519"],
    ["P-256", "p256"],
    ["secp256k1", "ethereum"],
    ["BIP39", "ethereum"],
  ] as const)("holds for a key of the spec %s", async (spec, kind) => {
    const statement = await signStatement(TEXT, await keyOf(spec));
    expect(statement.kind).toBe(kind);
    expect(findStatementFault(statement, TEXT)).toBeUndefined();
    expect(findStatementFault(statement, `${TEXT} `)).toBeDefined();
  });

  it("names the account of a secp256k1 key", async () => {
    const key = await keyOf("secp256k1");
    const record = await server.call("GET", new URL(key.url).pathname, undefined, token);
    expect(await signStatement(TEXT, key)).toMatchObject({ kind: "ethereum", address: record.body["address"] });
  });

  it("is refused by keys that sign no statements, by the server's word, and without a server", async () => {
    await expect(signStatement(TEXT, await keyOf("BLS12-381"))).rejects.toThrow("keys of the specs Ed25519, P-256");
    const key = await keyOf("Ed25519");
    await expect(signStatement(TEXT, { ...key, token: server.token() })).rejects.toThrow("the vault's server refused");
    const nowhere = { ...key, url: key.url.replace(server.host, "127.0.0.1:1") };
    await expect(signStatement(TEXT, nowhere)).rejects.toThrow("cannot be reached");
  });

  it("takes a key's address alone, over https, with a token that a header can hold", () => {
    expect(readVaultKey(KEY_URL, "token")).toEqual({ kind: "vault", url: KEY_URL, token: "token" });
    for (const url of ["", CEREMONY_URL, `${KEY_URL}/sign`, `${KEY_URL}?a=b`, KEY_URL.replace("//", "//me:secret@")])
      expect(() => readVaultKey(url, "token"), url).toThrow("no address of a vault's key");
    expect(() => readVaultKey(KEY_URL.replace("https", "http"), "token")).toThrow("over https only");
    for (const wrong of [undefined, "", "two\r\nlines"])
      expect(() => readVaultKey(KEY_URL, wrong)).toThrow("PROOFWRIGHT_TOKEN");
  });

  it("is asked for by the command, which takes one key and the token from the environment", async () => {
    const fetched = vi.spyOn(globalThis, "fetch");
    const run = async (args: readonly string[], env = {}) =>
      await runCeremonyCommand(["contribute", CEREMONY_URL, ...args], env);
    await expect(run([`--vault-key=${KEY_URL}`])).rejects.toThrow("PROOFWRIGHT_TOKEN");
    const env = { PROOFWRIGHT_TOKEN: "token" };
    await expect(run([`--vault-key=${KEY_URL}`, "--ssh-key=a"], env)).rejects.toThrow("one key");
    await expect(run([`--vault-key=${KEY_URL}`, "--github=ada"], env)).rejects.toThrow("--ssh-key");
    expect(fetched).not.toHaveBeenCalled();
    fetched.mockRestore();
  });
});

// Creating keys over HTTP: what a spec allows, and what is refused.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVaultServer, type Answer, type VaultServer } from "../http-support.js";

let server: VaultServer;
beforeAll(async () => {
  server = await startVaultServer();
});
afterAll(async () => {
  await server.close();
});

const code = (answer: Answer): string | undefined => answer.body.errors?.[0]?.code;

describe("creating keys", () => {
  it("refuses types and usages that the spec has not, options of other specs, and key material; nothing is stored", async () => {
    const vault = await server.newVault();
    const create = async (body: object): Promise<string | undefined> =>
      code(await server.call("POST", `/api/v1/vaults/${vault}/keys`, { name: "k", ...body }));
    expect(await create({ spec: "secp256k1", type: "symmetric" })).toBe("key_type_mismatch");
    expect(await create({ spec: "Ed25519", usage: "encrypt/decrypt" })).toBe("key_type_mismatch");
    expect(await create({ spec: "RSA-1024" })).toBe("key_spec_unknown");
    expect(await create({ spec: "Ed25519", options: { prefix: "U" } })).toBe("option_unsupported");
    expect(await create({ spec: "Ed25519-nkey", options: { prefix: "S" } })).toBe("invalid_request");
    for (const member of ["private_key", "public_key", "mnemonic", "seed", "ephemeral"])
      expect(await create({ spec: "BIP39", [member]: "00" })).toBe("unknown_member");
    expect((await server.call("GET", `/api/v1/vaults/${vault}/keys`)).headers.get("x-total-results-count")).toBe("1");
  });

  it("writes nkeys with the prefix that is asked for", async () => {
    for (const [options, letter] of [
      [undefined, "U"],
      [{ prefix: "A" }, "A"],
      [{ prefix: "N" }, "N"],
    ] as const) {
      const { key } = await server.newKey("Ed25519-nkey", undefined, options === undefined ? {} : { options });
      const nkey = Buffer.from(key["public_key"]!.slice(2), "hex").toString("latin1");
      expect(nkey).toMatch(new RegExp(`^${letter}[A-Z2-7]{55}$`));
      const { path: at } = await server.newKey("Ed25519-nkey");
      const { signature } = (await server.call("POST", `${at}/sign`, { message: "01" })).body;
      expect(
        (
          await server.call("POST", "/api/v1/verify", {
            spec: "Ed25519-nkey",
            public_key: nkey,
            message: "01",
            signature,
          })
        ).body,
      ).toEqual({ verified: false });
    }
  });
});

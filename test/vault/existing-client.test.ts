/** An existing client, npm provide-js 1.10.0, does all its vault calls unchanged. */
import { vaultClientFactory } from "provide-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVaultServer, type VaultServer } from "./http-support.js";
import { PHRASE } from "./support.js";

let server: VaultServer;
let client: ReturnType<typeof vaultClientFactory>;
beforeAll(async () => {
  server = await startVaultServer();
  client = vaultClientFactory(server.token(), "http", server.host);
});
afterAll(async () => {
  await server.close();
});

type Signed = { signature: string; address?: string; hdDerivationPath?: string };

async function newVault(): Promise<string> {
  return ((await client.createVault({ name: "vault", description: "of a client" })) as { id: string }).id;
}
async function newKey(vaultId: string, spec: string, type: string, usage: string): Promise<Record<string, string>> {
  return (await client.createVaultKey(vaultId, {
    type,
    usage,
    spec,
    name: spec,
    description: "a key",
  })) as unknown as Record<string, string>;
}

describe("provide-js", () => {
  it("creates and lists vaults and keys, and deletes keys", async () => {
    const id = await newVault();
    expect(await client.fetchVaults({})).toMatchObject({ totalResultsCount: 1, results: [{ id, name: "vault" }] });
    const key = await newKey(id, "secp256k1", "asymmetric", "sign/verify");
    expect(key).toMatchObject({
      vaultId: id,
      spec: "secp256k1",
      publicKey: expect.stringMatching(/^0x04/) as string,
      address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) as string,
    });
    expect(await client.fetchVaultKeys(id, {})).toMatchObject({ totalResultsCount: 2 });
    expect(await client.fetchVaultKeys(id, { spec: "secp256k1", page: undefined })).toMatchObject({
      totalResultsCount: 1,
      results: [{ id: key["id"] }],
    });
    expect(await client.deleteVaultKey(id, key["id"]!)).toBeUndefined();
    expect(await client.fetchVaultKeys(id, {})).toMatchObject({ totalResultsCount: 1 });
  });

  it.each(["AES-256-GCM", "ChaCha20"])("encrypts and decrypts with %s keys", async (spec) => {
    const id = await newVault();
    const key = await newKey(id, spec, "symmetric", "encrypt/decrypt");
    const sealed = (await client.encrypt(id, key["id"]!, "hello grüße")) as { data: string };
    expect(await client.decrypt(id, key["id"]!, sealed.data)).toEqual({ data: "hello grüße" });
  });

  it.each(["babyJubJub", "Ed25519", "Ed25519-nkey", "secp256k1", "BIP39", "RSA-2048", "BLS12-381", "P-256"])(
    "signs and verifies with %s keys without options",
    async (spec) => {
      const id = await newVault();
      const key = await newKey(id, spec, "asymmetric", "sign/verify");
      const message = "05".repeat(32);
      const signed = (await client.signMessage(id, key["id"]!, message)) as Signed;
      expect(signed.signature).toMatch(/^[0-9a-f]+$/);
      expect(await client.verifySignature(id, key["id"]!, message, signed.signature)).toEqual({ verified: true });
      expect(await client.verifySignature(id, key["id"]!, "06".repeat(32), signed.signature)).toEqual({
        verified: false,
      });
      if (spec === "BIP39")
        expect(signed).toMatchObject({
          hdDerivationPath: "m/44'/60'/0'/0/0",
          address: expect.stringMatching(/^0x/) as string,
        });
    },
  );

  it("passes its options on", async () => {
    const id = await newVault();
    const rsa = await newKey(id, "RSA-2048", "asymmetric", "sign/verify");
    expect(await client.signMessage(id, rsa["id"]!, "00ff", { algorithm: "RS256" })).toMatchObject({
      signature: expect.stringMatching(/^[0-9a-f]{512}$/) as string,
    });
    const wallet = await newKey(id, "BIP39", "asymmetric", "sign/verify");
    expect(
      await client.signMessage(id, wallet["id"]!, "05".repeat(32), { hdwallet: { account: 1, index: 2 } }),
    ).toMatchObject({ hdDerivationPath: "m/44'/60'/1'/0/2" });
  });

  it("stores, lists, reads and deletes secrets", async () => {
    const id = await newVault();
    const secret = (await client.createVaultSecret(id, {
      name: "db",
      type: "password",
      value: "correct horse",
      description: "d",
    })) as { id: string };
    expect(secret).not.toHaveProperty("value");
    expect(await client.fetchVaultSecrets(id, {})).toMatchObject({
      totalResultsCount: 1,
      results: [{ id: secret.id }],
    });
    expect(await client.fetchVaultSecrets(id, { type: "none" })).toMatchObject({ totalResultsCount: 0 });
    expect(await client.fetchVaultSecret(id, secret.id)).toMatchObject({ value: "correct horse" });
    expect(await client.deleteVaultSecret(id, secret.id)).toBeUndefined();
  });

  it("seals and unseals, and is told that a sealed vault serves nothing", async () => {
    expect(await client.seal(PHRASE)).toEqual({});
    const refused: unknown = await client.fetchVaults({}).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ response: { status: 503, data: { errors: [{ code: "vault_sealed" }] } } });
    expect(await client.unseal(PHRASE)).toEqual({});
    expect(await client.fetchVaults({})).toMatchObject({ totalResultsCount: expect.any(Number) as number });
  });
});

/** What requests keep in the commit by which they make vaults, keys, secrets and addresses. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { permissionBits } from "../../src/platform/auth/permissions.js";
import type { Principal } from "../../src/platform/auth/principal.js";
import type { Once } from "../../src/platform/contract/once.js";
import type { AnyReply } from "../../src/platform/contract/route.js";
import { vaultHandlers } from "../../src/vault/handlers.js";
import { organizationVaultHandlers } from "../../src/vault/organization-vault-handlers.js";
import { organizationVaultRoutes } from "../../src/vault/organization-vault-routes.js";
import { vaultRoutes } from "../../src/vault/routes.js";
import { cutOff, replayed, RUNS_AGAIN, type CutOff } from "../support/cut-off-answers.js";
import { openTestVault, subject, type TestVault } from "./support.js";

const caller = subject();
const organization = subject("organization");
const principal: Principal = {
  subject: caller,
  permissions: permissionBits(["create", "vault_use"]),
  tokenId: caller.id,
  sessionId: caller.id,
  expiresAtSec: 2 ** 40,
};
const routes = { ...vaultRoutes, ...organizationVaultRoutes };

let test: TestVault;
let handlers: Readonly<Record<string, (request: never) => AnyReply | Promise<AnyReply>>>;
let vaultId: string;
let organizationVaultId: string;
/** Ids of keys by spec. */
let keys: Readonly<Record<"ChaCha20" | "BIP39", string>>;

beforeAll(async () => {
  test = await openTestVault({ isOnThisThread: true });
  const { vault } = test;
  handlers = {
    ...vaultHandlers({ vault, requireTenant: () => undefined }),
    ...organizationVaultHandlers({ vault, requireMember: () => undefined }),
  };
  vaultId = (await vault.createVault(caller, { name: "own" })).id;
  organizationVaultId = (await vault.createVault(organization, { name: "shared" })).id;
  const newKey = async (spec: string): Promise<string> =>
    (await vault.createKey(caller, vaultId, { spec, name: spec })).id;
  keys = { ChaCha20: await newKey("ChaCha20"), BIP39: await newKey("BIP39") };
});
afterAll(async () => {
  await test.close();
});

async function cut(id: keyof typeof routes, params: Readonly<Record<string, string>>, body: object): Promise<CutOff> {
  const request = { principal, params, body, signal: new AbortController().signal };
  return await cutOff(test.store, routes[id], async (once: Once) => {
    const handler = handlers[id] as (given: object) => AnyReply | Promise<AnyReply>;
    return await handler({ ...request, once });
  });
}

async function derive(spec: keyof typeof keys, body: object): Promise<CutOff> {
  return await cut("deriveKey", { id: vaultId, key_id: keys[spec] }, body);
}

const inVault = (): Record<string, string> => ({ id: vaultId });
const inOrganization = (): Record<string, string> => ({ id: organization.id, vault_id: organizationVaultId });
const KEY = { spec: "secp256k1", name: "payments" };
const NEXT = { options: { hdwallet: { next: true } } };
const SECRET = { type: "password", name: "database", value: "correct horse battery staple" };

describe("the answer to a request that makes something is kept in the commit that makes it:", () => {
  it.each([
    ["createVault", () => ({}), { name: "payments" }, ["key", "vault"]],
    ["createKey", inVault, KEY, ["key"]],
    ["createSecret", inVault, SECRET, ["secret"]],
    ["createOrganizationVault", () => ({ id: organization.id }), { name: "treasury" }, ["key", "vault"]],
    ["createOrganizationVaultKey", inOrganization, KEY, ["key"]],
    ["createOrganizationVaultSecret", inOrganization, SECRET, ["secret"]],
  ] as const)("%s", async (id, params, body, made) => {
    const { reply, repeat, keeping } = await cut(id, params(), body);
    expect(reply).toMatchObject({ status: 201, body: { name: body.name } });
    expect(repeat).toEqual(replayed(reply));
    expect(keeping).toEqual([made]);
    expect(JSON.stringify(test.store.range(["idempotency"]))).not.toContain(SECRET.value);
  });

  it.each([
    ["a child key at a nonce", "ChaCha20", { nonce: 1, context: "a", name: "child" }, ["derive_nonce", "key"]],
    ["a child key at a nonce of chance", "ChaCha20", { context: "a", name: "child" }, ["derive_nonce", "key"]],
    ["the next address of a wallet", "BIP39", NEXT, ["hd_address", "hd_index"]],
    ["the address at a path", "BIP39", { hd_derivation_path: "m/44'/60'/7'/0/0" }, ["hd_address"]],
  ] as const)("deriveKey, %s", async (_what, spec, body, made) => {
    const { reply, repeat, keeping } = await derive(spec, body);
    expect(reply.status).toBe(201);
    expect(repeat).toEqual(replayed(reply));
    expect(keeping).toEqual([made]);
  });
});

describe("a batch of derivations", () => {
  const child = (nonce: number): object => ({ nonce, context: "a", name: `child ${String(nonce)}` });

  it("keeps with its first commit that it has begun, and its answer with the last", async () => {
    for (const [spec, batch, made] of [
      ["ChaCha20", [child(11), child(12), child(13)], ["derive_nonce", "key"]],
      ["BIP39", [NEXT, NEXT, NEXT], ["hd_address", "hd_index"]],
    ] as const) {
      const { reply, repeat, keeping } = await derive(spec, { batch });
      expect(repeat, spec).toEqual(replayed(reply));
      expect(keeping, spec).toEqual([made, made]);
    }
  });

  it("whose last item is refused is told to have taken effect, and one that made nothing runs again", async () => {
    const used = await derive("ChaCha20", { batch: [child(21), child(22)] });
    expect(used.reply.status).toBe(201);
    const partly = await derive("ChaCha20", { batch: [child(21), child(23), child(24), child(22)] });
    expect(partly.repeat).toContain("began to take effect");
    expect(partly.keeping).toEqual([["derive_nonce", "key"]]);
    const refused = await derive("ChaCha20", { batch: [child(21), child(22)] });
    expect(refused.keeping).toEqual([]);
    expect(refused.repeat).toBe(RUNS_AGAIN);
  });
});

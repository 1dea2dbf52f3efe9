/**
 * Uses of keys and secrets over HTTP: each is recorded once and under its caller, by a server that looks for no commit
 * of theirs.
 */
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROUTE_LIST } from "../../src/api.js";
import { auditLines } from "../../src/platform/audit/audit-log.js";
import { USES } from "../../src/platform/audit/audited-routes.js";
import { openStoreReader } from "../../src/platform/store/lmdb/lmdb-store.js";
import { startServer, type TestServer } from "../support/server.js";

const DIGEST = "5a".repeat(32);

interface Recorded {
  readonly action: string;
  readonly outcome: string;
  readonly subject?: string;
  readonly code?: string;
}

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.dispose();
});

async function recorded(): Promise<Recorded[]> {
  const reader = openStoreReader({ path: join(server.dataDir, "store") });
  try {
    return auditLines(reader, 0, 100_000)
      .split("\n")
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as { event: Recorded }).event);
  } finally {
    await reader.close();
  }
}

it("leaves one event each, and none of the service's own", async () => {
  const { api, userId } = await server.newUser();
  const organization = (await api.createOrganization({ body: { name: "uses" } })).body.id;
  const id = (await api.createVault({ body: { name: "uses" } })).body.id;
  const newKey = async (spec: string): Promise<{ id: string; key_id: string; public_key: string }> => {
    const key = (await api.createKey({ params: { id }, body: { spec, name: spec } })).body;
    return { id, key_id: key.id, public_key: String(key.public_key) };
  };
  const [signing, wallet, cipher, agreeing] = [
    await newKey("Ed25519"),
    await newKey("BIP39"),
    await newKey("AES-256-GCM"),
    await newKey("C25519"),
  ];
  const secret_id = (await api.createSecret({ params: { id }, body: { name: "s", type: "t", value: "v" } })).body.id;
  const theirs = (await api.createOrganizationVault({ params: { id: organization }, body: { name: "theirs" } })).body
    .id;
  const place = { id: organization, vault_id: theirs };
  const theirKey = (await api.createOrganizationVaultKey({ params: place, body: { spec: "Ed25519", name: "k" } })).body
    .id;
  const theirSecret = (
    await api.createOrganizationVaultSecret({ params: place, body: { name: "s", type: "t", value: "v" } })
  ).body.id;
  const before = (await recorded()).length;

  await api.signMessage({ params: signing, body: { message: DIGEST } });
  await api.signMessage({ params: signing, body: { batch: [{ message: DIGEST }, { message: DIGEST }] } });
  await api.signMessage({ params: wallet, body: { message: DIGEST, options: { hdwallet: { next: true } } } });
  await api.signWithOrganizationVaultKey({ params: { ...place, key_id: theirKey }, body: { message: DIGEST } });
  const encrypted = (await api.encrypt({ params: cipher, body: { data: "x" } })).body;
  await api.decrypt({ params: cipher, body: { data: (encrypted as { data: string }).data } });
  await api.agree({ params: agreeing, body: { public_key: agreeing.public_key } });
  await api.getSecret({ params: { id, secret_id } });
  await api.getOrganizationVaultSecret({ params: { ...place, secret_id: theirSecret } });
  await api.getXpub({ params: wallet });
  await expect(api.decrypt({ params: cipher, body: { data: "00" } })).rejects.toThrow();
  // Waited for on disk, and with it what came before and was not.
  await newKey("Ed25519");

  const events = (await recorded()).slice(before);
  expect(
    events.map(({ action, outcome, code }) => [action, outcome, code].filter((part) => part !== undefined).join(" ")),
  ).toEqual([
    "signMessage ok",
    "signMessage ok",
    "signMessage ok",
    "signWithOrganizationVaultKey ok",
    "encrypt ok",
    "decrypt ok",
    "agree ok",
    "getSecret ok",
    "getOrganizationVaultSecret ok",
    "getXpub ok",
    "decrypt refused decryption_failed",
    "createKey ok",
  ]);
  expect(new Set(events.map(({ subject }) => subject))).toEqual(new Set([`user:${userId}`]));
  expect(
    [...USES].filter(
      (use) => !events.some(({ action }) => action === use) || !ROUTE_LIST.some((route) => route.id === use),
    ),
  ).toEqual([]);
});

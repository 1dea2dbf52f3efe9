/**
 * A store without room (READ_ONLY): what each route answers, and that nothing is half done. The routes and their inputs
 * are those of the permission matrix.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROUTE_LIST } from "../../../src/api.js";
import { holdsAll, permissionBits } from "../../../src/platform/auth/permissions.js";
import type { RouteSpec } from "../../../src/platform/contract/route.js";
import { ceremonyRoutes } from "../../../src/prover/ceremonies/ceremony-routes.js";
import { openStoreReader } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { startAnvil, type Anvil } from "../../support/anvil.js";
import { textOf } from "../../support/response.js";
import { startServer, type TestServer } from "../../support/server.js";
import { bodyOf, idOf, inWorkableOrder, newTenant, PASSWORD, pathOf, type Tenant } from "../../support/tenants.js";
import { newFolder } from "../../support/temporary-folder.js";

/** Without it the issuer would be the address, and tokens would become invalid with the first server. */
const ENV = { PROOFWRIGHT_ISSUER: "https://read-only.example.com", PROOFWRIGHT_MODE: "development" };
const FULL = { ...ENV, PROOFWRIGHT_STORE_MAX_MB: "64" };

/** What requests may leave in the reserve: the audit log, and the count of failed logins. */
const HOUSEKEEPING: ReadonlySet<string> = new Set(["audit", "audit#head", "audit#subject", "login_throttle"]);

/** Routes that answer something else than 200 to reads, 507 to changes and 204 to deletions. */
const ANSWERS: Readonly<Record<string, readonly [number, string?]>> = {
  getReadiness: [503],
  // The same as with room: the input is invalid, or there is nothing to do.
  authenticate: [401, "invalid_credentials"],
  authorize: [422, "invalid_request"],
  submitAuthorization: [422, "invalid_request"],
  submitEndSession: [422, "invalid_request"],
  createOAuthToken: [401],
  authorizeDevice: [401],
  decideDevice: [404],
  introspectToken: [401],
  revokeToken: [401],
  resetPassword: [422, "reset_token_invalid"],
  confirmEmail: [422, "confirmation_token_invalid"],
  createApplicationUser: [204],
  updateApplicationUser: [204],
  createApplicationOrganization: [204],
  createOrganizationUser: [204],
  unseal: [403, "seal_key_rejected"],
  seal: [403, "seal_key_rejected"],
  // Each of its items says that there is no room.
  proveBatch: [200],
  proveFile: [422, "witness_missing"],
  uploadProverArtifact: [409, "upload_not_expected"],
  deriveKey: [400, "spec_cannot_derive"],
  encrypt: [400, "spec_cannot_encrypt"],
  decrypt: [400, "spec_cannot_decrypt"],
  agree: [400, "spec_cannot_agree"],
  listAddresses: [400, "spec_cannot_derive"],
  getXpub: [400, "spec_has_no_xpub"],
  rotateKey: [409, "key_not_rotatable"],
  rewrap: [400, "spec_cannot_decrypt"],
  restoreKey: [409, "key_not_deleted"],
  restoreSecret: [409, "deletion_not_planned"],
  restoreVault: [409, "deletion_not_planned"],
  verify: [422, "proof_malformed"],
  // No blocks are mined, so that its deployment is still under way.
  checkVerifier: [409, "verifier_busy"],
  // The server of the test has no folder of published files.
  getReferenceString: [404, "not_found"],
  checkReferenceString: [422, "invalid_request"],
  // The test sends a file without bytes, and none was uploaded.
  uploadReferenceString: [422, "invalid_request"],
  deleteReferenceString: [404, "not_found"],
  // Nor a prover with a ceremony.
  ...Object.fromEntries(Object.keys(ceremonyRoutes).map((id) => [id, [404, "not_found"] as const])),
  executeContract: [422, "method_unknown"],
  broadcastTransaction: [422, "invalid_request"],
  deleteNetwork: [409, "network_in_use"],
  listConnectorEntities: [409, "connector_not_ready"],
  getConnectorEntity: [409, "connector_not_ready"],
  createConnectorEntity: [409, "connector_not_ready"],
  updateConnectorEntity: [409, "connector_not_ready"],
  deleteConnectorEntity: [409, "connector_not_ready"],
  // These need no room: signatures, checks, and tokens that are not stored.
  postUserInfo: [200],
  signMessage: [201],
  signWithOrganizationVaultKey: [200],
  verifySignature: [200],
  verifyWithOrganizationVaultKey: [200],
  verifyDetached: [200],
  enableKey: [200],
  blsAggregate: [422, "signature_malformed"],
  blsVerify: [422, "public_key_invalid"],
  blsFastAggregateVerify: [422, "public_key_invalid"],
  blsVerifyPossession: [422, "public_key_invalid"],
  provePossession: [400, "spec_cannot_prove_possession"],
  createUnsealerKey: [201],
  createContractSubscription: [201],
  createConnectorSubscription: [201],
  // The same whether the address has an account or not, so it must not say that the mail cannot be stored.
  requestPasswordReset: [204],
  requestEmailConfirmation: [204],
};

/** Inputs that would write, where the route's example would not. Logins have a test of their own. */
const BODIES: Readonly<Record<string, (tenant: Tenant) => object>> = {
  authenticate: () => ({ email: "nobody@example.com", password: PASSWORD }),
  createUser: () => ({ email: "new@example.com", password: PASSWORD, first_name: "N", last_name: "W" }),
  createToken: ({ ids }) => ({ application_id: ids["applications:id"] }),
};

let folder: string;
let server: TestServer;
let anvil: Anvil;
let ada: Tenant;
let root: string;
/** A user who is deleted. */
let bob: { readonly token: string; readonly userId: string };
/** A user with a vault, whose token is lost. */
let eve: { readonly email: string; readonly password: string };

beforeAll(async () => {
  anvil = await startAnvil();
  // No blocks are mined, so that the tenant's transaction is still open when it is bumped and cancelled.
  await anvil.request("evm_setAutomine", false);
  folder = newFolder("read-only");
  server = await startServer({ dataDir: folder, env: ENV });
  const bootstrap = readFileSync(join(folder, "bootstrap-token"), "utf8").trim();
  const credentials = { email: "root@example.com", password: PASSWORD };
  await server.as(bootstrap).createUser({ body: { ...credentials, first_name: "R", last_name: "T" } });
  root = (await server.anonymous.authenticate({ body: credentials })).body.token.access_token;
  ada = await newTenant({ server, anvil }, "ada@example.com");
  bob = await server.newUser();
  const { api, email, password } = await server.newUser();
  await api.createVault({ body: { name: "in the way" } });
  eve = { email, password };
  await server.end();
  server = await startServer({ dataDir: folder, env: FULL });
  // The first rejected write makes the server notice that there is no room.
  expect((await call(routeOf("createVault"))).code).toBe("storage_full");
});
afterAll(async () => {
  await server.dispose();
  await anvil.stop("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

function routeOf(id: string): RouteSpec {
  return ROUTE_LIST.find((route) => route.id === id)!;
}

function tokenFor(route: RouteSpec): string | undefined {
  if (route.id === "deleteUser") return bob.token;
  // Public, and reads a token when it makes another for the same subject.
  if (route.auth === "public") return route.id === "createToken" ? ada.token : undefined;
  if (!holdsAll(ada.permissions, permissionBits(route.auth.permissions))) return root;
  return route.auth.subjects?.includes("user") === false ? ada.applicationToken : ada.token;
}

async function call(route: RouteSpec): Promise<{ status: number; code: string | undefined }> {
  const token = tokenFor(route);
  const body = BODIES[route.id]?.(ada) ?? bodyOf({ anvil }, route, ada.ids);
  const response = await fetch(
    server.url + pathOf(route, (name) => (route.id === "deleteUser" ? bob.userId : idOf(route, name, ada.ids))),
    {
      method: route.method,
      redirect: "manual",
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === undefined ? {} : { authorization: `bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    },
  );
  const text = await textOf(response);
  return { status: response.status, code: /"code":"([a-z_]+)"/.exec(response.status >= 400 ? text : "")?.[1] };
}

/** Keys and versions of all records, except those that every request may leave. */
function records(): Map<string, number> {
  const reader = openStoreReader({ path: join(folder, "store") });
  try {
    const all = reader.range([], { limit: 100_000 }).filter(({ key }) => !HOUSEKEEPING.has(String(key[0])));
    return new Map(all.map(({ key, version }) => [JSON.stringify(key), version]));
  } finally {
    void reader.close();
  }
}

it("answers reads as usual and changes with 507, and stores nothing of them", async () => {
  const before = records();
  expect(before.size).toBeGreaterThan(100);
  for (const route of inWorkableOrder(ROUTE_LIST).filter(({ method }) => method !== "DELETE")) {
    const expected = ANSWERS[route.id] ?? (route.method === "GET" ? [200] : [507, "storage_full"]);
    const { status, code } = await call(route);
    expect([route.id, status, ...(code === undefined ? [] : [code])]).toEqual([route.id, ...expected]);
  }
  expect(records()).toEqual(before);
});

it("keeps the vault usable, and the audit log written", async () => {
  const api = server.as(ada.token);
  const [id, number] = [ada.ids["vaults:id"]!, (await api.listAudit({ query: {} })).total];
  const { body: keys } = await api.listKeys({ params: { id } });
  const params = { id, key_id: keys.find(({ name }) => name === "master0")!.id };
  const {
    body: { data },
  } = (await api.encrypt({ params, body: { data: "tea" } })) as { body: { data: string } };
  expect((await api.decrypt({ params, body: { data } })).body).toEqual({ data: "tea" });
  expect((await api.getSecret({ params: { id, secret_id: ada.ids["vaults:secret_id"]! } })).body.value).toBe("v");
  expect((await api.getSealStatus({})).body.sealed).toBe(false);
  expect((await api.listAudit({ query: {} })).total).toBeGreaterThan(number + 2);
});

it("lets users log in, so that one without a token can make room", async () => {
  const credentials = { email: eve.email, password: eve.password };
  const { user, token } = (await server.anonymous.authenticate({ body: credentials })).body;
  const api = server.as(token.access_token);
  const {
    body: [vault],
  } = await api.listVaults({ query: {} });
  await api.deleteVault({ params: { id: vault!.id } });
  expect((await api.listVaults({ query: {} })).body).toEqual([]);
  await expect(api.createVault({ body: { name: "v" } })).rejects.toMatchObject({ code: "storage_full" });
  await api.deleteUser({ params: { id: user.id } });
  await expect(server.anonymous.authenticate({ body: credentials })).rejects.toMatchObject({
    code: "invalid_credentials",
  });
});

it("deletes things and revokes tokens, which makes room", async () => {
  for (const route of inWorkableOrder(ROUTE_LIST).filter(({ method }) => method === "DELETE")) {
    const { status, code } = await call(route);
    expect([route.id, status, ...(code === undefined ? [] : [code])]).toEqual([
      route.id,
      ...(ANSWERS[route.id] ?? [204]),
    ]);
  }
  expect((await call(routeOf("listVaults"))).status).toBe(401);
});

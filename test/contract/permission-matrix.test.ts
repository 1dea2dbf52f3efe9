/**
 * Every route of the interface x {no token, forged token, a missing bit, the wrong kind of subject, the wrong tenant, own parent with a
 * foreign child, right}, over HTTP against the real server. Generated from the declarations: a route whose parameters are not known
 * here fails the test, so that none goes unlooked-at (T16).
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTE_LIST } from "../../src/api.js";
import { PERMISSIONS, holdsAll, permissionBits } from "../../src/platform/auth/permissions.js";
import type { RouteSpec } from "../../src/platform/contract/route.js";
import { startAnvil, type Anvil } from "../support/anvil.js";
import { provisioned, startServer, type Api, type TestServer } from "../support/server.js";
import { textOf } from "../support/response.js";

/** Ids by `first path segment:parameter`, and by parameter alone where it always means the same. */
type Ids = Readonly<Record<string, string>>;

interface Tenant {
  readonly userId: string;
  readonly token: string;
  readonly permissions: number;
  readonly api: Api;
  /** A token of an application of the tenant. */
  readonly applicationToken: string;
  readonly ids: Ids;
}

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly message: string | undefined;
}

/** One of the networks that everybody sees. */
const PUBLIC_NETWORK = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";
const PASSWORD = "a long phrase of my own";
const DEPLOYED = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/** PUSH1 42, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN: any question is answered with one word. */
const RETURNS_42 = "0x602a5f5260205ff3";

let server: TestServer;
let anvil: Anvil;
let ada: Tenant;
let eve: Tenant;
let root: { readonly token: string; readonly api: Api };
/** Personal access tokens by owner and bits: one per combination, not one per route. */
const cutTokens = new Map<string, Promise<string>>();

beforeAll(async () => {
  anvil = await startAnvil();
  server = await startServer();
  root = await administrator();
  ada = await newTenant("ada@example.com");
  eve = await newTenant("eve@example.com");
}, 240_000);

afterAll(async () => {
  await server.dispose();
  await anvil.stop("SIGKILL");
});

async function administrator(): Promise<{ token: string; api: Api }> {
  const bootstrap = readFileSync(join(server.dataDir, "bootstrap-token"), "utf8").trim();
  const credentials = { email: "root@example.com", password: PASSWORD };
  await server.as(bootstrap).createUser({ body: { ...credentials, first_name: "R", last_name: "T" } });
  const { body } = await server.anonymous.authenticate({ body: credentials });
  return { token: body.token.access_token, api: server.as(body.token.access_token) };
}

async function newTenant(email: string): Promise<Tenant> {
  await server.anonymous.createUser({ body: { email, password: PASSWORD, first_name: "Ada", last_name: "Lovelace" } });
  const { body: { user, token } } = await server.anonymous.authenticate({ body: { email, password: PASSWORD } });
  const otherSession = (await server.anonymous.authenticate({ body: { email, password: PASSWORD } })).body.token.id;
  const api = server.as(token.access_token);
  const application = (await api.createApplication({ body: {} })).body.id;
  const applicationToken = (await api.createToken({ body: { application_id: application } })).body.access_token;
  const organization = (await api.createOrganization({ body: { name: "Works" } })).body.id;
  await api.createApplicationOrganization({ params: { id: application }, body: { organization_id: organization } });
  const member = (await server.as(applicationToken).createUser({ body: { email, first_name: "V", last_name: "U" } })).body.id;
  await api.createOrganizationUser({ params: { id: organization }, body: { user_id: member } });
  await api.createInvitation({ body: { email: `guest.${email}`, application_id: application } });
  await api.updateApplicationClient({ params: { id: application }, body: { redirect_uris: ["https://app.example.com/cb"] } });
  const invitation = (await api.listApplicationInvitations({ params: { id: application } })).body[0]!.id;
  const own = await vaultOf(async () => (await api.createVault({ body: { name: "v" } })).body.id, api);
  const shared = await organizationVault(api, organization);
  const prover = await provisioned(api, { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", provider: "circom", name: "cubic" });
  await api.prove({ params: { id: prover }, body: { witness: { X: "3", Y: "35" } } });
  const proof = (await api.listProofs({ params: { id: prover } })).body[0]!.id;
  const network = await networkOf(api);
  const contract = (await api.createContract({ body: { network_id: network.network, address: DEPLOYED, name: "c" } })).body.id;
  const tokenContract = (await api.createTokenContract({ body: { network_id: network.network, address: DEPLOYED, type: "erc20", name: "t", symbol: "T", decimals: 0 } })).body.id;
  const connector = (await server.as(applicationToken).createConnector({ body: { name: "c", network_id: PUBLIC_NETWORK, type: "ipfs", config: {}, is_virtual: true } })).body.id;
  const wallet = (await api.createWallet({ body: {} })).body.id;
  const oracle = (await server.as(applicationToken).createOracle({ body: { name: "o", network_id: PUBLIC_NETWORK } })).body.id;
  const bridge = (await server.as(applicationToken).createBridge({ body: { name: "b", network_id: PUBLIC_NETWORK } })).body.id;
  const ids = {
    "networks:id": network.network, "networks:node_id": network.node, "networks:contract_id": contract, "networks:transaction_id": network.transaction,
    "accounts:id": network.account, "accounts:token_id": tokenContract, "wallets:id": wallet, "transactions:id": network.transaction, "oracles:id": oracle, "bridges:id": bridge,
    "connectors:id": connector, "connectors:entity": "bafkqaaa",
    "users:id": user.id, "tokens:id": otherSession, "invitations:id": invitation, "applications:id": application, "organizations:id": organization, user_id: member, organization_id: organization,
    "vaults:id": own.vault, "vaults:key_id": own.key, "vaults:secret_id": own.secret,
    "organizations:vault_id": shared.vault, "organizations:key_id": shared.key, "organizations:secret_id": shared.secret,
    "provers:id": prover, "provers:proof_id": proof, "provers:index": "0", "provers:name": "verifying_key.json", "reset_password:token": "ppr_none", "oauth:id": application,
    "contracts:id": contract, "token_contracts:id": tokenContract,
  };
  return { userId: user.id, token: token.access_token, permissions: token.permissions, api, applicationToken, ids };
}

/** A network of the tenant's own on the test's node, with a second node, an account with money and a transaction. */
async function networkOf(api: Api): Promise<{ network: string; node: string; account: string; transaction: string }> {
  const network = (await api.createNetwork({ body: { name: "n", config: { json_rpc_url: anvil.url } } })).body.id;
  const node = (await api.createNetworkNode({ params: { id: network }, body: { config: { json_rpc_url: anvil.url.replace("127.0.0.1", "localhost") } } })).body.id;
  const account = (await api.createAccount({ body: { network_id: network } })).body;
  await anvil.request("anvil_setBalance", account.address, "0xde0b6b3a7640000");
  await anvil.request("anvil_setCode", DEPLOYED, RETURNS_42);
  const transaction = (await api.createTransaction({ body: { network_id: network, account_id: account.id, to: account.address, value: 1 } })).body.id;
  return { network, node, account: account.id, transaction };
}

async function vaultOf(create: () => Promise<string>, api: Api): Promise<{ vault: string; key: string; secret: string }> {
  const vault = await create();
  const key = (await api.createKey({ params: { id: vault }, body: { spec: "secp256k1", name: "k" } })).body.id;
  const secret = (await api.createSecret({ params: { id: vault }, body: { name: "s", type: "t", value: "v" } })).body.id;
  return { vault, key, secret };
}

async function organizationVault(api: Api, organization: string): Promise<{ vault: string; key: string; secret: string }> {
  const vault = (await api.listOrganizationVaults({ params: { id: organization } })).body[0]!.id;
  const params = { id: organization, vault_id: vault };
  const key = (await api.createOrganizationVaultKey({ params, body: { spec: "secp256k1", name: "k" } })).body.id;
  const secret = (await api.createOrganizationVaultSecret({ params, body: { name: "s", type: "t", value: "v" } })).body.id;
  return { vault, key, secret };
}

/** The token of a tenant that is of a kind that the route takes. */
function tokenFor(tenant: Tenant, route: Guarded): string {
  return isForUsers(route) ? tenant.token : tenant.applicationToken;
}

function isForUsers({ auth }: Guarded): boolean {
  return auth.subjects?.includes("user") !== false;
}

function parameters(route: RouteSpec): string[] {
  return [...route.path.matchAll(/:([a-z_]+)/g)].map(([, name = ""]) => name);
}

/** Parameters that name something of a tenant. */
function idParameters(route: RouteSpec): string[] {
  return parameters(route).filter((name) => name === "id" || name.endsWith("_id"));
}

function idOf(route: RouteSpec, name: string, ids: Ids): string {
  const area = route.path.replace(/^\/api\/v1\//, "").split("/")[0] ?? "";
  const value = ids[`${area}:${name}`] ?? ids[name];
  if (value === undefined) throw new Error(`${route.id}: the matrix does not know what :${name} of ${route.path} is`);
  return value;
}

function pathOf(route: RouteSpec, valueOf: (name: string) => string): string {
  return route.path.replace(/:([a-z_]+)/g, (_whole, name: string) => encodeURIComponent(valueOf(name)));
}

/** The route's own example, with the ids that it names put to the tenant's. */
function bodyOf(route: RouteSpec, ids: Ids): unknown {
  if (route.body === undefined) return undefined;
  const overrides: Readonly<Record<string, object>> = {
    createApplicationUser: { user_id: ids["user_id"] }, createOrganizationUser: { user_id: ids["user_id"] }, createApplicationOrganization: { organization_id: ids["organization_id"] },
    createNetworkNode: { config: { json_rpc_url: anvil.url.replace("127.0.0.1", "127.0.0.2") } },
    createTransaction: { network_id: ids["networks:id"], account_id: ids["accounts:id"], to: DEPLOYED, value: 1 }, createAccount: { network_id: ids["networks:id"] },
    createProver: { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", provider: "circom", name: `cubic ${randomUUID()}` },
    prove: { witness: { X: "3", Y: "35" } }, verify: { witness: { Y: "35" }, proof: "00" }, createInvitation: { email: `${randomUUID()}@example.com` },
  };
  return overrides[route.id] ?? route.example?.body;
}

async function call(route: RouteSpec, path: string, token: string | undefined, body: unknown): Promise<Answer> {
  const response = await fetch(server.url + path + queryOf(route), {
    method: route.method, redirect: "manual",
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...(token === undefined ? {} : { authorization: `bearer ${token}` }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await textOf(response);
  const parsed = response.status >= 400 && text.startsWith("{") ? JSON.parse(text) as { message?: string; errors?: readonly { code: string }[] } : {};
  return { status: response.status, code: parsed.errors?.[0]?.code, message: parsed.message };
}

function queryOf(route: RouteSpec): string {
  return route.id === "authorize" ? `?response_type=code&client_id=${ada.ids["applications:id"] ?? ""}&redirect_uri=https://app.example.com/cb&code_challenge=${"a".repeat(43)}&code_challenge_method=S256` : "";
}

async function cutToken(owner: { readonly token: string; readonly api: Api }, permissions: number): Promise<string> {
  const name = `${owner.token.slice(-8)} ${String(permissions)}`;
  const made = cutTokens.get(name) ?? owner.api.createPersonalToken({ body: { name: "cut", permissions } }).then(({ body }) => body.access_token);
  cutTokens.set(name, made);
  return made;
}

type Guarded = RouteSpec & { readonly auth: Exclude<RouteSpec["auth"], "public"> };
const GUARDED = ROUTE_LIST.filter((route): route is Guarded => route.auth !== "public");
const PUBLIC = ROUTE_LIST.filter((route) => route.auth === "public");
const NESTED = GUARDED.filter((route) => idParameters(route).length > 1);
const named = (routes: readonly RouteSpec[]): [string, RouteSpec][] => routes.map((route) => [`${route.method} ${route.path}`, route]);

/** Everything but deletions first, then from the leaves to the root; what ends an application's token or the caller itself comes last. */
function forTheRightCaller(): Guarded[] {
  const rank = (route: RouteSpec): number => (["deleteApplication", "deleteOrganization", "deleteTokens", "deleteUser"].indexOf(route.id) + 1) * 1000 + (route.method === "DELETE" ? (route.area === "chain" ? 50 : 100) - route.path.split("/").length : 0);
  return [...GUARDED].sort((a, b) => rank(a) - rank(b));
}

describe("a guarded route", () => {
  it.each(named(GUARDED))("%s: 401 without a token, with a forged one, and with a refresh token's or client's text", async (_name, route) => {
    const path = pathOf(route, (name) => idOf(route, name, ada.ids));
    const [header, payload] = ada.token.split(".");
    for (const token of [undefined, `${header ?? ""}.${payload ?? ""}.${"A".repeat(86)}`, "prt_none", "pcs_none", "ppt_none"]) {
      expect(await call(route, path, token, bodyOf(route, ada.ids))).toMatchObject({ status: 401, code: "unauthorized" });
    }
  });

  it.each(named(GUARDED))("%s: 403 when any one bit that it needs is missing", async (_name, route) => {
    const { permissions } = (route as Guarded).auth;
    const path = pathOf(route, (name) => idOf(route, name, ada.ids));
    for (const permission of permissions) {
      const holder = holdsAll(ada.permissions, PERMISSIONS[permission]) ? ada : root;
      const token = await cutToken(holder, (holder === ada ? ada.permissions : permissionBits(permissions)) & ~PERMISSIONS[permission]);
      const answer = await call(route, path, token, bodyOf(route, ada.ids));
      expect(answer, permission).toMatchObject({ status: 403, code: "forbidden" });
      expect(answer.message).toContain(permission);
    }
  });

  it.each(named(GUARDED.filter((route) => route.auth.subjects?.includes("application") === false)))("%s: 403 for a token of an application", async (_name, route) => {
    const path = pathOf(route, (name) => idOf(route, name, ada.ids));
    expect(await call(route, path, ada.applicationToken, bodyOf(route, ada.ids))).toMatchObject({ status: 403, code: "forbidden" });
  });

  it.each(named(GUARDED.filter((route) => !isForUsers(route))))("%s: 403 for a token of a user", async (_name, route) => {
    const path = pathOf(route, (name) => idOf(route, name, ada.ids));
    expect(await call(route, path, ada.token, bodyOf(route, ada.ids))).toMatchObject({ status: 403, code: "forbidden" });
  });

  it.each(named(GUARDED.filter((route) => idParameters(route).length > 0)))("%s: 404 for another tenant, in the words for an id that is nobody's", async (_name, route) => {
    const body = bodyOf(route, eve.ids);
    const absent = await call(route, pathOf(route, (name) => (idParameters(route).includes(name) ? randomUUID() : idOf(route, name, ada.ids))), tokenFor(eve, route as Guarded), body);
    const applicationOfEve = await call(route, pathOf(route, (name) => idOf(route, name, ada.ids)), eve.applicationToken, body);
    const foreign = await call(route, pathOf(route, (name) => idOf(route, name, ada.ids)), tokenFor(eve, route as Guarded), body);
    expect(foreign).toEqual(absent);
    expect(foreign).toMatchObject({ status: 404, code: "not_found" });
    expect(applicationOfEve.status).toBe(404);
  });

  it.each(named(NESTED))("%s: 404 for a foreign child under an own parent", async (_name, route) => {
    const [parent] = idParameters(route);
    for (const child of idParameters(route).slice(1)) {
      const path = pathOf(route, (name) => idOf(route, name, name === child && name !== parent ? ada.ids : eve.ids));
      expect(await call(route, path, tokenFor(eve, route as Guarded), bodyOf(route, eve.ids)), child).toMatchObject({ status: 404, code: "not_found" });
    }
  });

  it("lets the right caller through, each in turn", async () => {
    for (const route of forTheRightCaller()) {
      const caller = route.id === "deleteUser" ? (await server.anonymous.authenticate({ body: { email: "ada@example.com", password: PASSWORD } })).body.token.access_token : route.auth.permissions.every((permission) => holdsAll(ada.permissions, PERMISSIONS[permission])) ? tokenFor(ada, route) : root.token;
      const answer = await call(route, pathOf(route, (name) => idOf(route, name, ada.ids)), caller, bodyOf(route, ada.ids));
      expect(["unauthorized", "forbidden", "not_found", "permission_escalation"], `${route.method} ${route.path}: ${String(answer.status)} ${answer.message ?? ""}`).not.toContain(answer.code);
      expect(answer.status, route.id).toBeLessThan(500);
    }
  });
});

describe("a public route", () => {
  it.each(named(PUBLIC))("%s asks nobody for a bearer token", async (_name, route) => {
    const answer = await call(route, pathOf(route, (name) => idOf(route, name, eve.ids)), undefined, bodyOf(route, eve.ids));
    expect(answer.code).not.toBe("unauthorized");
    expect(answer.status).toBeLessThan(500);
  });
});

describe("the matrix", () => {
  it("covers every route, and every route declares what it needs", () => {
    expect(GUARDED.length + PUBLIC.length).toBe(ROUTE_LIST.length);
    // Whoever has any token may ask who it is; nothing else is open to a token without bits.
    expect(GUARDED.filter((route) => route.auth.permissions.length === 0).map(({ id }) => id)).toEqual(["getUserInfo"]);
  });
});

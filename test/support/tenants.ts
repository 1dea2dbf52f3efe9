/**
 * Tenants that have one of everything, for tests that walk all routes: what each parameter of a path names, and for
 * each route a body that means something.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { RouteSpec } from "../../src/platform/contract/route.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import type { Anvil } from "./anvil.js";
import { provisioned, type Api, type TestServer } from "./server.js";

/** Ids by `first path segment:parameter`, and by parameter alone where it always means the same. */
export type Ids = Readonly<Record<string, string>>;

export interface Tenant {
  readonly userId: string;
  readonly token: string;
  readonly permissions: number;
  readonly api: Api;
  /** A token of an application of the tenant. */
  readonly applicationToken: string;
  readonly ids: Ids;
}

/** What tenants live on. */
export interface Ground {
  readonly server: TestServer;
  readonly anvil: Anvil;
}

/** One of the networks that everybody sees. */
const PUBLIC_NETWORK = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";
export const PASSWORD = "a long phrase of my own";
/** Nobody listens there. */
const HOOK = "http://127.0.0.1:9/";
const DEPLOYED = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/** PUSH1 42, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN: any question is answered with one word. */
const RETURNS_42 = "0x602a5f5260205ff3";

export async function newTenant({ server, anvil }: Ground, email: string): Promise<Tenant> {
  await server.anonymous.createUser({ body: { email, password: PASSWORD, first_name: "Ada", last_name: "Lovelace" } });
  const {
    body: { user, token },
  } = await server.anonymous.authenticate({ body: { email, password: PASSWORD } });
  const otherSession = (await server.anonymous.authenticate({ body: { email, password: PASSWORD } })).body.token.id;
  const api = server.as(token.access_token);
  const application = (await api.createApplication({ body: {} })).body.id;
  const applicationToken = (await api.createToken({ body: { application_id: application } })).body.access_token;
  const organization = (await api.createOrganization({ body: { name: "Works" } })).body.id;
  await api.createApplicationOrganization({ params: { id: application }, body: { organization_id: organization } });
  const member = (await server.as(applicationToken).createUser({ body: { email, first_name: "V", last_name: "U" } }))
    .body.id;
  await api.createOrganizationUser({ params: { id: organization }, body: { user_id: member } });
  await api.createInvitation({ body: { email: `guest.${email}`, application_id: application } });
  await api.updateApplicationClient({
    params: { id: application },
    body: { redirect_uris: ["https://app.example.com/cb"] },
  });
  const invitation = (await api.listApplicationInvitations({ params: { id: application } })).body[0]!.id;
  const own = await vaultOf(async () => (await api.createVault({ body: { name: "v" } })).body.id, api);
  const shared = await organizationVault(api, organization);
  const prover = await provisioned(api, {
    identifier: "cubic",
    proving_scheme: "groth16",
    curve: "BN254",
    provider: "circom",
    name: "cubic",
  });
  await api.prove({ params: { id: prover }, body: { witness: { X: "3", Y: "35" }, receipt: true } });
  // Answered as a job, which has an id as a proof has.
  const asked = { params: { id: prover }, body: { witness: { X: "3", Y: "35" } } };
  const job = (await api.prove({ ...asked, headers: { Prefer: "respond-async" } })).body.id;
  await api.getJob({ params: { id: job }, preferWaitSec: 300 });
  const receiptKey = (await api.listReceiptKeys({ params: { id: prover } })).body[0]!.kid;
  const proof = (await api.listProofs({ params: { id: prover } })).body[0]!.id;
  const stores = (await api.getProver({ params: { id: prover } })).body;
  // Made now: a server that cannot write makes no key.
  const headKey = (await api.getStoreHead({ params: { id: stores.note_store_id } })).body.jwk.kid;
  const grant = (await api.createProverGrant({ params: { id: prover }, body: { user_id: randomUUID() } })).body.id;
  const sharedProver = await proverSharedWith(user.id, server.as(applicationToken));
  const network = await networkOf(anvil, api);
  const verifier = (
    await api.createVerifier({
      params: { id: prover },
      body: { network_id: network.network, account_id: network.account },
    })
  ).body.id;
  const contract = (await api.createContract({ body: { network_id: network.network, address: DEPLOYED, name: "c" } }))
    .body.id;
  const tokenContract = (
    await api.createTokenContract({
      body: { network_id: network.network, address: DEPLOYED, type: "erc20", name: "t", symbol: "T", decimals: 0 },
    })
  ).body.id;
  const connector = (
    await server
      .as(applicationToken)
      .createConnector({ body: { name: "c", network_id: PUBLIC_NETWORK, type: "ipfs", config: {}, is_virtual: true } })
  ).body.id;
  const wallet = (await api.createWallet({ body: {} })).body.id;
  const oracle = (await server.as(applicationToken).createOracle({ body: { name: "o", network_id: PUBLIC_NETWORK } }))
    .body.id;
  const bridge = (await server.as(applicationToken).createBridge({ body: { name: "b", network_id: PUBLIC_NETWORK } }))
    .body.id;
  const webhook = (await api.createWebhook({ body: { url: HOOK } })).body.id;
  const delivery = (await api.testWebhook({ params: { id: webhook } })).body.id;
  const ids = {
    "webhooks:id": webhook,
    "webhooks:delivery_id": delivery,
    "networks:id": network.network,
    "networks:node_id": network.node,
    "networks:contract_id": contract,
    "networks:transaction_id": network.transaction,
    "accounts:id": network.account,
    "accounts:token_id": tokenContract,
    "wallets:id": wallet,
    "transactions:id": network.transaction,
    "oracles:id": oracle,
    "bridges:id": bridge,
    "connectors:id": connector,
    "connectors:entity": "bafkqaaa",
    "users:id": user.id,
    "tokens:id": otherSession,
    "invitations:id": invitation,
    "applications:id": application,
    "organizations:id": organization,
    user_id: member,
    organization_id: organization,
    "vaults:id": own.vault,
    "vaults:key_id": own.key,
    "vaults:secret_id": own.secret,
    "organizations:vault_id": shared.vault,
    "organizations:key_id": shared.key,
    "organizations:secret_id": shared.secret,
    "provers:id": prover,
    "provers:proof_id": proof,
    "provers:grant_id": grant,
    "provers:kid": receiptKey,
    "provers:verifier_id": verifier,
    "shared_provers:id": sharedProver,
    "jobs:id": job,
    "provers:index": "0",
    "provers:invitation_id": randomUUID(),
    "provers:participant_id": randomUUID(),
    // No powers of tau are published on the test's servers, so that none has a ceremony.
    "ceremonies:id": prover,
    "ceremonies:index": "1",
    "ceremonies:name": "circuit.r1cs",
    // The paths of pages have no area.
    ":name": "page.js",
    "getConsoleScript:hash": consoleHash("script"),
    "getConsoleStyle:hash": consoleHash("style"),
    "getDocsScript:hash": docsHash("scripts"),
    "getDocsStyle:hash": docsHash("styles"),
    "getGuide:guide": "concepts",
    "provers:name": "verifying_key.json",
    "provers:key": "0".repeat(64),
    "stores:id": stores.note_store_id,
    "stores:index": "0",
    "stores:key": "0".repeat(64),
    "stores:kid": headKey,
    "proveStoreNullifier:id": stores.nullifier_store_id,
    "reference_strings:hash": "0".repeat(64),
    "reference_strings:file": "missing.ptau",
    "reset_password:token": "ppr_none",
    "confirm_email:token": "pec_none",
    "oauth:id": application,
    "contracts:id": contract,
    "token_contracts:id": tokenContract,
  };
  return { userId: user.id, token: token.access_token, permissions: token.permissions, api, applicationToken, ids };
}

/** The changing part of the name of one of the console's files, as the build wrote it. */
function consoleHash(kind: "script" | "style"): string {
  const manifest = readFileSync(join(PACKAGE_ROOT, "dist", "console", "manifest.json"), "utf8");
  return /-([A-Z0-9]+)\./.exec((JSON.parse(manifest) as Record<typeof kind, string>)[kind])?.[1] ?? "";
}

/** The same of a file of the documentation. */
function docsHash(kind: "scripts" | "styles"): string {
  const manifest = readFileSync(join(PACKAGE_ROOT, "dist", "docs", "manifest.json"), "utf8");
  return Object.keys((JSON.parse(manifest) as Record<typeof kind, object>)[kind])[0] ?? "";
}

/** A prover of another owner, not provisioned. */
async function proverSharedWith(userId: string, other: Api): Promise<string> {
  const body = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254" };
  const { id } = (await other.createProver({ body })).body;
  await other.createProverGrant({ params: { id }, body: { user_id: userId } });
  return id;
}

/** A network of the tenant's own on the test's node, with a second node, an account with money and a transaction. */
async function networkOf(
  anvil: Anvil,
  api: Api,
): Promise<{ network: string; node: string; account: string; transaction: string }> {
  const network = (await api.createNetwork({ body: { name: "n", config: { json_rpc_url: anvil.url } } })).body.id;
  const node = (
    await api.createNetworkNode({
      params: { id: network },
      body: { config: { json_rpc_url: anvil.url.replace("127.0.0.1", "localhost") } },
    })
  ).body.id;
  const account = (await api.createAccount({ body: { network_id: network } })).body;
  await anvil.request("anvil_setBalance", account.address, "0xde0b6b3a7640000");
  await anvil.request("anvil_setCode", DEPLOYED, RETURNS_42);
  const transaction = (
    await api.createTransaction({
      body: { network_id: network, account_id: account.id, to: account.address, value: 1 },
    })
  ).body.id;
  return { network, node, account: account.id, transaction };
}

async function vaultOf(
  create: () => Promise<string>,
  api: Api,
): Promise<{ vault: string; key: string; secret: string }> {
  const vault = await create();
  const key = (await api.createKey({ params: { id: vault }, body: { spec: "secp256k1", name: "k" } })).body.id;
  const secret = (await api.createSecret({ params: { id: vault }, body: { name: "s", type: "t", value: "v" } })).body
    .id;
  return { vault, key, secret };
}

async function organizationVault(
  api: Api,
  organization: string,
): Promise<{ vault: string; key: string; secret: string }> {
  const vault = (await api.listOrganizationVaults({ params: { id: organization } })).body[0]!.id;
  const params = { id: organization, vault_id: vault };
  const key = (await api.createOrganizationVaultKey({ params, body: { spec: "secp256k1", name: "k" } })).body.id;
  const secret = (await api.createOrganizationVaultSecret({ params, body: { name: "s", type: "t", value: "v" } })).body
    .id;
  return { vault, key, secret };
}

function parameters(route: RouteSpec): string[] {
  return [...route.path.matchAll(/:([a-z_]+)/g)].map(([, name = ""]) => name);
}

/** Parameters that name something of a tenant. */
export function idParameters(route: RouteSpec): string[] {
  return parameters(route).filter((name) => name === "id" || name.endsWith("_id"));
}

export function idOf(route: RouteSpec, name: string, ids: Ids): string {
  const area = route.path.replace(/^\/api\/v1\//, "").split("/")[0] ?? "";
  const value = ids[`${route.id}:${name}`] ?? ids[`${area}:${name}`] ?? ids[name];
  if (value === undefined) throw new Error(`${route.id}: the matrix does not know what :${name} of ${route.path} is`);
  return value;
}

export function pathOf(route: RouteSpec, valueOf: (name: string) => string): string {
  return route.path.replace(/:([a-z_]+)/g, (_whole, name: string) => encodeURIComponent(valueOf(name)));
}

/** The route's own example, with the ids that it names put to the tenant's. */
export function bodyOf({ anvil }: Pick<Ground, "anvil">, route: RouteSpec, ids: Ids): unknown {
  if (route.body === undefined) return undefined;
  const overrides: Readonly<Record<string, object>> = {
    createApplicationUser: { user_id: ids["user_id"] },
    createOrganizationUser: { user_id: ids["user_id"] },
    createApplicationOrganization: { organization_id: ids["organization_id"] },
    createNetworkNode: { config: { json_rpc_url: anvil.url.replace("127.0.0.1", "127.0.0.2") } },
    createTransaction: { network_id: ids["networks:id"], account_id: ids["accounts:id"], to: DEPLOYED, value: 1 },
    createAccount: { network_id: ids["networks:id"] },
    createVerifier: { network_id: ids["networks:id"], account_id: ids["accounts:id"] },
    createVerifierRegistry: { network_id: ids["networks:id"], account_id: ids["accounts:id"] },
    createProver: {
      identifier: "cubic",
      proving_scheme: "groth16",
      curve: "BN254",
      provider: "circom",
      name: `cubic ${randomUUID()}`,
    },
    prove: { witness: { X: "3", Y: "35" } },
    verify: { witness: { Y: "35" }, proof: "00" },
    createWebhook: { url: HOOK },
    createInvitation: { email: `${randomUUID()}@example.com` },
  };
  return overrides[route.id] ?? route.example?.body;
}

/**
 * Everything but deletions first, then from the leaves to the root; what ends an application's token or the caller
 * itself comes last.
 */
export function inWorkableOrder<Route extends RouteSpec>(routes: readonly Route[]): Route[] {
  const rank = (route: RouteSpec): number =>
    (["deleteApplication", "deleteOrganization", "deleteTokens", "deleteUser"].indexOf(route.id) + 1) * 1000 +
    (route.method === "DELETE" ? (route.area === "chain" ? 50 : 100) - route.path.split("/").length : 0);
  return [...routes].sort((a, b) => rank(a) - rank(b));
}

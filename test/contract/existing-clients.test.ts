/** The calls of existing clients (existing-client-calls.ts), and what they do besides, against the real server. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { provisioned, startServer, type TestServer } from "../support/server.js";
import {
  CHAIN,
  CONNECTOR,
  IDENTITY,
  NETWORK,
  PROVER,
  PROVER_NAME,
  SEPOLIA,
  VAULT,
  type Bearer,
  type Json,
  type Row,
  type World,
} from "./existing-client-calls.js";

let server: TestServer;
let world: World;

beforeAll(async () => {
  server = await startServer();
  const { api, token, userId, email, password } = await server.newUser();
  const application = (await api.createApplication({ body: { name: "Ada application", network_id: SEPOLIA } })).body.id;
  const organization = (
    await api.createOrganization({ body: { name: "Ada organization", description: "for testing", metadata: { a: 1 } } })
  ).body.id;
  const tokenOf = async (body: Json): Promise<string> => (await api.createToken({ body })).body.access_token;
  const vault = (await api.createVault({ body: { name: "v" } })).body.id;
  await api.createApplicationOrganization({ params: { id: application }, body: { organization_id: organization } });
  const applicationToken = await tokenOf({ application_id: application });
  world = {
    email,
    password,
    user: userId,
    application,
    organization,
    wallet: (await api.createWallet({ body: {} })).body.id,
    vault,
    key: (await api.createKey({ params: { id: vault }, body: { spec: "ChaCha20", name: "k" } })).body.id,
    ...(await provenBy(applicationToken)),
    tokens: {
      user: token,
      application: applicationToken,
      organization: await tokenOf({ organization_id: organization }),
      nobody: undefined,
    },
  };
});
afterAll(async () => {
  await server.dispose();
});

/** Makes a prover and a proof. */
async function provenBy(token: string): Promise<Pick<World, "prover" | "proof">> {
  const api = server.as(token);
  const circuit = { name: PROVER_NAME, identifier: "cubic", proving_scheme: "groth16", curve: "BN254" } as const;
  const id = await provisioned(api, circuit);
  const { body } = await api.prove({ params: { id }, body: { witness: { X: "3", Y: "35" } } });
  const prover = (await api.getProver({ params: { id } })).body;
  return { prover: { ...prover }, proof: body.proof };
}

async function send(as: Bearer, [method, path, body]: ReturnType<Row["request"]>): Promise<Response> {
  const token = world.tokens[as];
  return await fetch(`${server.url}/api/v1/${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

describe.each([
  ["chain", CHAIN],
  ["identity", IDENTITY],
  ["vault", VAULT],
  ["prover", PROVER],
] as const)("calls of existing clients to %s", (_area, rows) => {
  it.each(rows.map((row) => [row.call, row] as const))("%s", async (_call, { as, request, theirs, ours, reads }) => {
    const response = await send(as, request(world));
    const text = await response.text();
    expect(response.status, `${text} ${ours?.because ?? ""}`).toBe(ours?.status ?? theirs);
    for (const member of reads ?? []) expect((JSON.parse(text) as Json)[member], member).toBeDefined();
  });
});

describe("a client that sends back what it read", () => {
  const camel = (record: Json): Json =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name.replace(/_([a-z])/g, (_, c: string) => c.toUpperCase()),
        value,
      ]),
    );
  const made = async (as: Bearer, path: string, body: Json): Promise<Json & { readonly id: string }> => {
    const response = await send(as, ["POST", path, body]);
    expect(response.status).toBe(201);
    const { id } = (await response.json()) as { id: string };
    return { ...((await (await send(as, ["GET", `${path}/${id}`])).json()) as Json), id };
  };

  it.each([
    ["networks", "user", NETWORK, "description"],
    ["contracts", "application", { network_id: SEPOLIA, name: "c", address: "0x" }, "name"],
    ["connectors", "application", { ...CONNECTOR, network_id: SEPOLIA, is_virtual: true }, "description"],
  ] as const)("may do so at %s, in snake case and in camel case", async (path, as, body, changed) => {
    const record = await made(as, path, body);
    for (const [sent, text] of [
      [record, "one"],
      [camel(record), "two"],
    ] as const) {
      const answer = await send(as, ["PUT", `${path}/${record.id}`, { ...sent, [changed]: text }]);
      expect(answer.status, await answer.text()).toBe(204);
      const now = (await (await send(as, ["GET", `${path}/${record.id}`])).json()) as Json;
      expect(now[changed]).toBe(text);
      expect(now["config"]).toEqual(record["config"]);
    }
    const other = await send(as, ["PUT", `${path}/${record.id}`, { ...record, network_id: randomUUID() }]);
    expect([404, 422]).toContain(other.status);
    expect((await send(as, ["PUT", `${path}/${record.id}`, { nickname: "x" }])).status).toBe(422);
  });
});

describe("ids in bodies", () => {
  it.each([
    ["accounts", "user", { network_id: SEPOLIA }, ["network_id", "user_id", "application_id", "organization_id"]],
    ["wallets", "user", {}, ["user_id", "application_id", "organization_id"]],
    ["networks", "user", NETWORK, ["network_id", "sidechain_id", "user_id", "application_id", "organization_id"]],
    ["contracts", "user", { network_id: SEPOLIA, address: "0x" }, ["network_id", "contract_id", "application_id"]],
    ["oracles", "application", { name: "o", network_id: SEPOLIA }, ["network_id", "contract_id", "application_id"]],
    [
      "bridges",
      "application",
      { name: "b", network_id: SEPOLIA },
      ["network_id", "destination_network_id", "contract_id", "user_id"],
    ],
    ["connectors", "application", { ...CONNECTOR, network_id: SEPOLIA }, ["network_id", "application_id"]],
    ["applications", "user", {}, ["network_id"]],
    [
      "token_contracts",
      "user",
      { network_id: SEPOLIA, address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", type: "erc20" },
      ["network_id", "contract_id", "sale_contract_id", "application_id"],
    ],
    [
      "transactions",
      "user",
      { network_id: SEPOLIA, account_id: randomUUID(), value: 0 },
      ["user_id", "application_id", "organization_id"],
    ],
  ] as const)("of %s that do not exist for the caller are 404 at their member", async (path, as, body, members) => {
    for (const member of members) {
      const answer = await send(as, ["POST", path, { ...body, [member]: randomUUID() }]);
      const { errors } = (await answer.json()) as { errors?: readonly { path?: string }[] };
      expect([member, answer.status, errors?.[0]?.path]).toEqual([member, 404, member]);
    }
  });

  it("name an application for which a member makes wallets and accounts", async () => {
    const { application } = world;
    for (const [path, body] of [
      ["wallets", { application_id: application }],
      ["accounts", { application_id: application, network_id: SEPOLIA }],
    ] as const) {
      const { id } = (await (await send("user", ["POST", path, body])).json()) as { id: string };
      expect((await send("application", ["GET", `${path}/${id}`])).status).toBe(200);
      expect((await send("user", ["GET", `${path}/${id}`])).status).toBe(404);
    }
  });
});

describe("lists of things with names", () => {
  it.each([
    ["networks", "user", NETWORK],
    ["contracts", "application", { network_id: SEPOLIA, address: "0x" }],
    ["connectors", "application", { ...CONNECTOR, network_id: SEPOLIA, is_virtual: true }],
    ["oracles", "application", { network_id: SEPOLIA }],
    ["bridges", "application", { network_id: SEPOLIA }],
    [
      "token_contracts",
      "user",
      { network_id: SEPOLIA, address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", type: "erc20" },
    ],
  ] as const)("are filtered by name at %s", async (path, as, body) => {
    const name = `only ${randomUUID()}`;
    expect((await send(as, ["POST", path, { ...body, name }])).status).toBe(201);
    const found = await send(as, ["GET", `${path}?name=${encodeURIComponent(name)}`]);
    expect(found.headers.get("x-total-results-count")).toBe("1");
    expect(await found.json()).toMatchObject([{ name }]);
    expect((await send(as, ["GET", `${path}?name=${randomUUID()}`])).headers.get("x-total-results-count")).toBe("0");
  });
});

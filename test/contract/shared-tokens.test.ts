/** `/api/v1/tokens` of an address with every area: session tokens for identity's clients, contracts for the chain's. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startServer, type TestServer } from "../support/server.js";

const NETWORK = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";
const TOKEN = {
  network_id: NETWORK,
  address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  type: "erc20",
  name: "Example",
  symbol: "EXM",
  decimals: 18,
};

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.dispose();
});

async function call(method: string, query: string, { token, body }: { token?: string; body?: unknown } = {}) {
  const answer = await fetch(`${server.url}/api/v1/tokens${query}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return {
    status: answer.status,
    total: answer.headers.get("x-total-results-count"),
    location: answer.headers.get("location"),
    json: (await answer.json()) as Readonly<Record<string, unknown>>,
  };
}

describe("a request that only a token contract fits", () => {
  it("creates and lists token contracts", async () => {
    const { token, api } = await server.newUser();
    const made = await call("POST", "", { token, body: TOKEN });
    expect([made.status, made.json]).toMatchObject([201, { symbol: "EXM", network_id: NETWORK }]);
    expect(made.location).toBe(`/api/v1/token_contracts/${String(made.json["id"])}`);
    expect((await api.listTokenContracts({})).total).toBe(1);
    for (const query of [`?network_id=${NETWORK}`, "?sort=recent", `?network_id=${NETWORK}&page=1&rpp=10`])
      expect(await call("GET", query, { token }), query).toMatchObject({ status: 200, total: "1", json: [made.json] });
    expect(await call("GET", `?network_id=${randomUUID()}`, { token })).toMatchObject({ status: 200, total: "0" });
  });

  it("is known by its members in any spelling", async () => {
    const { token } = await server.newUser();
    const { network_id: networkId, address: Address, ...rest } = TOKEN;
    const made = await call("POST", "", { token, body: { networkId, Address, ...rest } });
    expect([made.status, made.json]).toMatchObject([201, { symbol: "EXM", network_id: NETWORK }]);
    expect((await call("POST", "", { token, body: { networkId } })).json).not.toHaveProperty("access_token");
    expect((await call("POST", "", { body: { networkId, Address } })).status).toBe(401);
  });

  it("needs a token, its permissions, and the schema of a token contract", async () => {
    const { token, api } = await server.newUser();
    const { access_token: reader } = (await api.createPersonalToken({ body: { name: "reader", permissions: 2 } })).body;
    expect((await call("POST", "", { body: TOKEN })).status).toBe(401);
    expect((await call("POST", "", { token: "forged", body: TOKEN })).status).toBe(401);
    expect((await call("POST", "", { token: reader, body: TOKEN })).status).toBe(403);
    expect((await call("POST", "", { token, body: { ...TOKEN, decimals: "18" } })).status).toBe(422);
    expect((await call("POST", "", { token, body: { ...TOKEN, grant_type: "refresh_token" } })).status).toBe(422);
    expect((await call("POST", "", { token, body: { ...TOKEN, network_id: randomUUID() } })).status).toBe(404);
    expect((await api.listTokenContracts({})).total).toBe(0);
  });
});

describe("a creation of a token contract", () => {
  const post = async (headers: Readonly<Record<string, string>>, body: unknown): Promise<Response> =>
    await fetch(`${server.url}/api/v1/tokens`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });

  it("happens once for one Idempotency-Key", async () => {
    const { token, api } = await server.newUser();
    const headers = { authorization: `bearer ${token}`, "idempotency-key": randomUUID() };
    const [first, again] = [await post(headers, TOKEN), await post(headers, TOKEN)];
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(await again.json()).toEqual(await first.json());
    expect((await api.listTokenContracts({})).total).toBe(1);
    expect((await post(headers, { ...TOKEN, symbol: "EXN" })).status).toBe(422);
  });

  it("may be as long as under its own path, and no longer without a token", async () => {
    const { token } = await server.newUser();
    const long = { ...TOKEN, padding: "x".repeat(10_000) };
    // Read by the chain area's schema, not refused for its length.
    expect((await post({ authorization: `bearer ${token}` }, long)).status).toBe(422);
    expect((await post({}, long)).status).toBe(413);
    const login = { grant_type: "refresh_token", refresh_token: "x".repeat(10_000) };
    expect((await post({ authorization: `bearer ${token}` }, login)).status).toBe(413);
    expect((await post({ authorization: `bearer ${token}` }, { ...TOKEN, name: "x".repeat(70_000) })).status).toBe(413);
  });
});

describe("every other request", () => {
  it("is about session tokens, with identity's checks", async () => {
    const { token, userId, api } = await server.newUser();
    expect(await call("GET", "", { token })).toMatchObject({ status: 200, total: "1" });
    expect(await call("GET", `?user_id=${userId}`, { token })).toMatchObject({ status: 200, total: "1" });
    expect((await call("GET", "")).status).toBe(401);
    await api.createPersonalToken({ body: { name: TOKEN.name } });
    const name = encodeURIComponent(TOKEN.name);
    expect((await call("GET", `?name=${name}`, { token })).json).toMatchObject([
      { kind: "personal", name: TOKEN.name },
    ]);
    expect((await call("GET", `?name=${name}&network_id=${NETWORK}`, { token })).json).toEqual([]);
    expect((await call("POST", "", { token, body: {} })).json).toHaveProperty("access_token");
    expect((await call("POST", "", { token, body: { name: "x" } })).status).toBe(422);
    expect((await call("POST", "", { token, body: [] })).status).toBe(422);
    expect((await call("POST", "", { token, body: { application_id: randomUUID() } })).status).toBe(404);
  });

  it("is refused when it mixes both", async () => {
    const { token, userId } = await server.newUser();
    expect((await call("GET", `?user_id=${userId}&network_id=${NETWORK}`, { token })).status).toBe(422);
    expect((await call("GET", "?bogus=1", { token })).status).toBe(422);
  });
});

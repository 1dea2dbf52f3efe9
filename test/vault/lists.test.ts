// Lists of the vault and the owners that bodies name, over HTTP.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { vaultRoutes } from "../../src/vault/routes.js";
import { organizationVaultRoutes } from "../../src/vault/organization-vault-routes.js";
import { OWN_ORGANIZATION, startVaultServer, type Answer, type VaultServer } from "./http-support.js";

let server: VaultServer;
beforeAll(async () => {
  server = await startVaultServer();
});
afterAll(async () => {
  await server.close();
});

const failure = ({ status, body }: Answer): unknown[] => [status, body.errors?.[0]?.code, body.errors?.[0]?.path];

describe("lists", () => {
  it("all have pages, a total and links", () => {
    const lists = [...Object.values(vaultRoutes), ...Object.values(organizationVaultRoutes)].filter(
      (route) => route.method === "GET" && /s$|jwks\.json$/.test(route.path) && route.id !== "getSealStatus",
    );
    expect(lists.map(({ id }) => id)).toHaveLength(8);
    for (const route of lists) expect("list" in route && route.list, route.id).toBe(true);
  });

  it("take a name, exactly, beside their other filters, and count what they find", async () => {
    const token = server.token();
    const create = async (path: string, body: object): Promise<string> =>
      String((await server.call("POST", path, body, token)).body["id"]);
    const [one] = [
      await create("/api/v1/vaults", { name: "pay" }),
      await create("/api/v1/vaults", { name: "payments" }),
      await create("/api/v1/vaults", { name: "pay" }),
    ];
    const keys = `/api/v1/vaults/${one}/keys`;
    const secrets = `/api/v1/vaults/${one}/secrets`;
    for (const [name, spec] of [
      ["a", "ChaCha20"],
      ["a", "Ed25519"],
      ["b", "Ed25519"],
    ])
      await create(keys, { name, spec });
    for (const [name, type] of [
      ["a", "t"],
      ["a", "u"],
      ["ä b", "u"],
    ])
      await create(secrets, { name, type, value: "v" });
    const counts: [string, number][] = [
      ["/api/v1/vaults", 3],
      ["/api/v1/vaults?name=pay", 2],
      ["/api/v1/vaults?name=payments", 1],
      ["/api/v1/vaults?name=Pay", 0],
      [`${keys}?name=a`, 2],
      [`${keys}?name=a&spec=ed25519`, 1],
      [`${keys}?name=a&type=symmetric`, 1],
      [`${keys}?name=master0`, 1],
      [`${keys}?name=c`, 0],
      [`${secrets}?name=a`, 2],
      [`${secrets}?name=a&type=u`, 1],
      [`${secrets}?name=%C3%A4%20b`, 1],
      [keys.replace(/keys$/, "jwks.json"), 2],
    ];
    for (const [path, count] of counts) {
      const answer = await server.call("GET", path, undefined, token);
      expect([answer.status, answer.headers.get("x-total-results-count")], path).toEqual([200, String(count)]);
      if (Array.isArray(answer.body)) expect(answer.body, path).toHaveLength(count);
    }
    const page = await server.call("GET", "/api/v1/vaults?name=pay&rpp=1&page=2", undefined, token);
    expect([page.headers.get("x-total-results-count"), (page.body as unknown as object[]).length]).toEqual(["2", 1]);
    expect(page.headers.get("link")).toContain("name=pay");
  });
});

describe("owners that bodies name", () => {
  it("are the caller or whom it may act for; others are not found", async () => {
    const token = server.token();
    const post = async (path: string, body: object): Promise<Answer> => await server.call("POST", path, body, token);
    const own = { user_id: token, application_id: null, organization_id: null };
    const vault = await post("/api/v1/vaults", { name: "v", ...own });
    expect(vault.status, JSON.stringify(vault.body)).toBe(201);
    const at = `/api/v1/vaults/${String(vault.body["id"])}`;
    const bodies: [string, object][] = [
      ["/api/v1/vaults", { name: "v" }],
      [`${at}/keys`, { name: "k", spec: "ChaCha20" }],
      [`${at}/secrets`, { name: "s", type: "t", value: "v" }],
    ];
    for (const [path, body] of bodies) {
      expect((await post(path, { ...body, ...own })).status, path).toBe(201);
      for (const member of ["user_id", "application_id", "organization_id"])
        expect(failure(await post(path, { ...body, [member]: randomUUID() })), path).toEqual([
          404,
          "not_found",
          member,
        ]);
      expect(failure(await post(path, { ...body, owner_id: token }))).toEqual([422, "unknown_member", "owner_id"]);
    }
    const theirs = await post("/api/v1/vaults", { name: "theirs", organization_id: OWN_ORGANIZATION });
    expect(theirs.status).toBe(201);
    const { record } = {
      record: server.test.vault.getVault({ kind: "organization", id: OWN_ORGANIZATION }, String(theirs.body["id"])),
    };
    expect(record.name).toBe("theirs");
    expect((await server.call("GET", `/api/v1/vaults/${record.id}`, undefined, token)).status).toBe(404);
  });
});

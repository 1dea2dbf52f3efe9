/** Server processes that are killed or hang, and a database that goes away. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestCluster } from "../support/cluster.js";
import { eventually } from "../support/eventually.js";
import type { TestServer } from "../support/server.js";

let cluster: TestCluster;
let stays: TestServer;
let other: TestServer;

beforeAll(async () => {
  cluster = await TestCluster.make();
  other = await cluster.start("other");
  stays = await cluster.start("stays");
});
afterAll(async () => {
  await cluster.dispose();
});

/** Says of each check of `/readyz` whether it holds. */
async function readiness({ url }: TestServer): Promise<Record<string, boolean>> {
  const { checks } = (await (await fetch(`${url}/readyz`)).json()) as { checks: { name: string; ok: boolean }[] };
  return Object.fromEntries(checks.map(({ name, ok }) => [name, ok]));
}

describe("a node that is killed", () => {
  it("gives its duties to another, which an orderly stop does at once", async () => {
    await eventually(async () => {
      expect(await cluster.dutiesOf("other")).toContain("webhooks");
    });
    expect(await cluster.dutiesOf("stays")).toBe("");
    await other.end("SIGKILL");
    await eventually(async () => {
      expect(await cluster.dutiesOf("stays")).toContain("webhooks");
    });
    other = await cluster.start("other");
    expect(await stays.end("SIGTERM")).toBe(0);
    // Not for as long as a silent node would.
    expect(await cluster.dutiesOf("stays")).toBe("");
    await eventually(async () => {
      expect(await cluster.dutiesOf("other")).toContain("webhooks");
    });
    stays = await cluster.start("stays");
  });
});

describe("a node that hangs", () => {
  it("is given up, writes nothing when it goes on, and ends", async () => {
    const { token } = await stays.newUser();
    await other.as(token).createVault({ body: { name: "before" } });
    other.child.kill("SIGSTOP");
    await eventually(async () => {
      expect(await cluster.dutiesOf("stays")).toContain("webhooks");
    });
    const ended = new Promise((resolve) => other.child.once("exit", resolve));
    other.child.kill("SIGCONT");
    const late = await other
      .as(token)
      .createVault({ body: { name: "late" } })
      .then(
        () => "made",
        () => "refused",
      );
    expect(await ended).toBe(1);
    expect(other.output()).toContain("the other nodes gave this one up");
    const names = (await stays.as(token).listVaults({})).body.map(({ name }) => name);
    expect([late, names]).toEqual(["refused", ["before"]]);
    other = await cluster.start("other");
    expect((await other.as(token).listVaults({})).body).toHaveLength(1);
  });
});

describe("a database that is away", () => {
  it("leaves what needs no store, refuses the rest in a sentence, and all goes on when it is back", async () => {
    const { token } = await stays.newUser();
    await cluster.postgres.crash();
    const refused = await fetch(`${stays.url}/api/v1/vaults`, { headers: { authorization: `Bearer ${token}` } });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await refused.json()).toMatchObject({ errors: [{ code: "store_unreachable" }] });
    for (const path of ["/livez", "/status", "/.well-known/jwks.json"])
      expect((await fetch(`${stays.url}${path}`)).status, path).toBe(200);
    await eventually(async () => {
      expect(await readiness(stays)).toMatchObject({ cluster: false, vault_unsealed: true });
    });
    await cluster.postgres.restart();
    await eventually(async () => {
      expect(await readiness(stays)).toMatchObject({ cluster: true, vault_unsealed: true, store: true });
    });
    for (const server of [stays, other])
      expect((await server.as(token).createVault({ body: { name: "after" } })).status).toBe(201);
  });
});

describe("a node that reads locally", () => {
  it("serves without the database for five seconds, and then says that it is behind", async () => {
    const local = await cluster.start("local", { PROOFWRIGHT_READS: "local" });
    const { token } = await local.newUser();
    const read = async (): Promise<number> =>
      (await fetch(`${local.url}/api/v1/vaults`, { headers: { authorization: `Bearer ${token}` } })).status;
    await cluster.postgres.crash();
    expect(await read()).toBe(200);
    await eventually(async () => {
      expect(await read()).toBe(503);
    });
    await cluster.postgres.restart();
    await eventually(async () => {
      expect(await read()).toBe(200);
    });
    await local.end();
  });
});

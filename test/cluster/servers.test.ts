/** Three server processes over one PostgreSQL: what one has answered holds on all. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PERMISSIONS } from "../../src/platform/auth/permissions.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import type { ClusterStatusJson } from "../../src/platform/service/schemas.js";
import { TestCluster } from "../support/cluster.js";
import { eventually } from "../support/eventually.js";
import { seededRandom } from "../support/seeded.js";
import type { TestServer } from "../support/server.js";

const NAMES = ["one", "two", "three"];
const ROUNDS = 25;

let cluster: TestCluster;
let nodes: readonly TestServer[];

beforeAll(async () => {
  cluster = await TestCluster.make();
  nodes = await Promise.all(NAMES.map(async (name) => await cluster.start(name, { PROOFWRIGHT_METRICS_PORT: "0" })));
});
afterAll(async () => {
  await cluster.dispose();
});

function node(index: number): TestServer {
  const found = nodes[index];
  if (found === undefined) throw new Error(`there is no node ${String(index)}`);
  return found;
}

async function request(
  server: TestServer,
  path: string,
  { token, method = "GET", headers = {}, body }: RequestParts = {},
): Promise<{ status: number; headers: Headers; json: unknown }> {
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, json: text === "" ? undefined : JSON.parse(text) };
}

interface RequestParts {
  readonly token?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

describe("three nodes", () => {
  it("read on each what any has answered, and refuse what any has revoked or disabled", async () => {
    const random = seededRandom();
    const user = await node(0).newUser();
    const vault = (
      await node(1)
        .as(user.token)
        .createVault({ body: { name: "shared" } })
    ).body.id;
    for (let round = 0; round < ROUNDS; round += 1) {
      const [maker, ender, asked] = [0, 0, 0].map(() => random.below(nodes.length)) as [number, number, number];
      const note = `round ${String(round)}, nodes ${String([maker, ender, asked])}, seed ${String(random.seed)}`;
      const made = await node(maker)
        .as(user.token)
        .createPersonalToken({
          body: { name: `token ${String(round)}`, permissions: PERMISSIONS.vault_use, expires_in_days: 1 },
        });
      const key = await node(ender)
        .as(user.token)
        .createKey({
          params: { id: vault },
          body: { type: "asymmetric", usage: "sign/verify", spec: "Ed25519", name: `key ${String(round)}` },
        });
      const params = { id: vault, key_id: key.body.id };
      const sign = async (): Promise<unknown> =>
        await node(asked)
          .as(made.body.access_token)
          .signMessage({ params, body: { message: "68656c6c6f" } });
      await expect(sign(), note).resolves.toMatchObject({ status: 201 });
      await node(ender).as(user.token).disableKey({ params });
      await expect(sign(), note).rejects.toMatchObject({ code: "key_disabled" });
      await node(ender)
        .as(user.token)
        .deleteToken({ params: { id: made.body.id } });
      await expect(sign(), note).rejects.toMatchObject({ status: 401 });
    }
  });

  it("answer a repeated Idempotency-Key as the node did that it was sent to first", async () => {
    const { token } = await node(0).newUser();
    const parts = {
      ...{ token, method: "POST", body: { name: "once" } },
      headers: { "idempotency-key": randomUUID() },
    };
    const first = await request(node(1), "/api/v1/vaults", parts);
    const again = await request(node(2), "/api/v1/vaults", parts);
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.json).toEqual(first.json);
    expect((await node(0).as(token).listVaults({})).body).toHaveLength(1);
  });

  it("answer a repeat for a node that was killed behind the commit of the request", async () => {
    const { token } = await node(0).newUser();
    const killed = await cluster.start("cut-off");
    const body = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "cut off" };
    const headers = { "idempotency-key": randomUUID(), prefer: "wait=60" };
    const parts = { token, method: "POST", body, headers };
    const cut = request(killed, "/api/v1/provers", parts).catch(() => undefined);
    await eventually(async () => {
      expect((await node(1).as(token).listProvers({})).total).toBe(1);
    });
    await killed.end("SIGKILL");
    const first = await cut;
    const again = await request(node(2), "/api/v1/provers", parts);
    expect(again.status).toBe(202);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    const { body: provers } = await node(1).as(token).listProvers({});
    expect(provers.map(({ id }) => id)).toEqual([(again.json as { readonly id: string }).id]);
    // Unless the kill came after the answer.
    expect(first?.json ?? again.json).toEqual(again.json);
    // Takes back the signs that it gave.
    await (await cluster.start("cut-off")).end();
  });

  it("tell their position, and refuse to read behind a commit that they have not got", async () => {
    const { token } = await node(0).newUser();
    const made = await request(node(0), "/api/v1/vaults", { token, method: "POST", body: { name: "v" } });
    const position = Number(made.headers.get("proofwright-position"));
    const read = await request(node(1), "/api/v1/vaults", {
      token,
      headers: { "proofwright-after": String(position) },
    });
    expect(read.json).toHaveLength(1);
    expect(Number(read.headers.get("proofwright-position"))).toBeGreaterThanOrEqual(position);
    const future = { token, headers: { "proofwright-after": String(position + 1_000_000) } };
    expect(await request(node(1), "/api/v1/vaults", future)).toMatchObject({
      status: 503,
      json: { errors: [{ code: "replica_behind" }] },
    });
    const wrong = { token, headers: { "proofwright-after": "-1" } };
    expect(await request(node(1), "/api/v1/vaults", wrong)).toMatchObject({ status: 422 });
  });

  it("divide the duties, and `cluster status` lists them", async () => {
    await eventually(async () => {
      const status = await clusterStatus();
      expect(status.nodes.map(({ name }) => name)).toEqual([...NAMES].sort());
      const duties = status.nodes.flatMap((listed) => listed.duties);
      expect(new Set(duties).size).toBe(duties.length);
      expect(duties).toEqual(expect.arrayContaining(["planned-deletions", "expired-events", "webhooks"]));
    });
  });

  it("are listed once by `cluster status` when they start again, and not for long when they were killed", async () => {
    const database = new URL(cluster.databaseUrl).pathname.slice(1);
    const leave = async (node: string, silent: string): Promise<unknown> =>
      await cluster.postgres.query(
        database,
        `INSERT INTO pw_node (incarnation, node, name, role, build, duties, seal, applied_g, seen_at)
          VALUES (gen_random_uuid(), $1, 'gone', 'worker', '0.0.0', '', '', 0, clock_timestamp() - $2::interval)`,
        [node, silent],
      );
    const worker = await cluster.startWorker("again");
    await worker.end("SIGKILL");
    await leave(randomUUID(), "59 minutes");
    await leave(randomUUID(), "61 minutes");
    const named = async (name: string): Promise<number[]> =>
      (
        await clusterStatus().catch(
          (error: unknown) => JSON.parse((error as { stdout: string }).stdout) as ClusterStatus,
        )
      ).nodes
        .filter((node) => node.name === name)
        .map(({ seconds_silent: silent }) => Math.round(silent / 60));
    expect([await named("gone"), await named("again")]).toEqual([[59], [0]]);
    const again = await cluster.startWorker("again");
    expect([await named("gone"), await named("again")]).toEqual([[59], [0]]);
    expect(await cluster.postgres.query(database, "SELECT 1 FROM pw_node WHERE name = 'gone'", [])).toHaveLength(1);
    await again.end();
    await cluster.postgres.query(database, "DELETE FROM pw_node WHERE name = 'gone'", []);
    expect(await named("again")).toEqual([]);
  });

  it("show each other to operators, and in the metrics", async () => {
    const token = await newAdministrator();
    await eventually(async () => {
      const { json } = await request(node(1), "/status", { token });
      const { cluster: told } = json as { readonly cluster: ClusterStatusJson };
      expect(told.nodes[0]).toMatchObject({ name: "two", seal: "unsealed", silent_seconds: 0 });
      expect(told.nodes.map(({ name }) => name).sort()).toEqual([...NAMES].sort());
      expect(told.nodes.every(({ position, seal }) => position > 0 && seal === "unsealed")).toBe(true);
      expect(told.position).toBeGreaterThan(0);
    });
    const { token: user } = await node(0).newUser();
    expect((await request(node(1), "/status", { token: user })).json).not.toHaveProperty("cluster");

    const metrics = /^Proofwright serves metrics on (http:\S+)$/m.exec(node(0).output())?.[1] ?? "";
    const text = await (await fetch(`${metrics}/metrics`)).text();
    expect(text).toMatch(/^proofwright_cluster_nodes 3$/m);
    const alerts = readFileSync(join(PACKAGE_ROOT, "src/operations/alerts-cluster.yaml"), "utf8");
    const named = new Set(alerts.match(/\bproofwright_cluster_[a-z_]+/g));
    expect(named.size).toBeGreaterThan(2);
    for (const name of named) expect(text).toContain(`# TYPE ${name} gauge`);
  });

  it("are all sealed when one has answered that it is, and each is unsealed by itself", async () => {
    const admin = await node(0).newUser();
    const sealed = async (): Promise<boolean[]> =>
      await Promise.all(
        nodes.map(async (server) => {
          const { json } = await request(server, "/readyz");
          const { checks } = json as { checks: { name: string; ok: boolean }[] };
          return !checks.some(({ name, ok }) => name === "vault_unsealed" && ok);
        }),
      );
    expect(await sealed()).toEqual([false, false, false]);
    const key = { method: "POST", token: admin.token, body: { key: cluster.phrase } };
    expect(await request(node(1), "/api/v1/seal", key)).toMatchObject({ status: 204 });
    expect(await sealed()).toEqual([true, true, true]);
    expect(await request(node(2), "/api/v1/unseal", key)).toMatchObject({ status: 204 });
    expect(await sealed()).toEqual([true, true, false]);
    for (const index of [0, 1]) await request(node(index), "/api/v1/unseal", key);
    expect(await sealed()).toEqual([false, false, false]);
  });

  it("refuse one whose settings would answer differently, by the setting's name", async () => {
    for (const [setting, value] of [
      ["PROOFWRIGHT_ISSUER", "https://another.test"],
      ["PROOFWRIGHT_EVENTS_DAYS", "3"],
      ["PROOFWRIGHT_EVENT_CONFIRMATIONS", "6"],
      ["PROOFWRIGHT_DOCKER_HOST", "tcp://engine.test:2375"],
      ["PROOFWRIGHT_DOCKER_HOST", "unix:///var/run/docker.sock"],
    ] as const)
      await expect(cluster.start("stranger", { [setting]: value }), value).rejects.toThrow(
        new RegExp(`${setting} must be the same on all nodes: it is "${value}`),
      );
    // A worker runs no containers, so that it need not reach their engine.
    await (await cluster.startWorker("hand", { PROOFWRIGHT_DOCKER_HOST: "tcp://engine.test:2375" })).end();
  });
});

/** Makes the first administrator, with the token that the first node has in its folder. */
async function newAdministrator(): Promise<string> {
  const [file = ""] = NAMES.map((name) => join(cluster.folderOf(name), "bootstrap-token")).filter(existsSync);
  const [email, password] = ["root@example.com", `phrase ${randomUUID()}`];
  await node(0)
    .as(readFileSync(file, "utf8").trim())
    .createUser({ body: { email, password, first_name: "Ada", last_name: "Lovelace" } });
  return (await node(2).anonymous.authenticate({ body: { email, password } })).body.token.access_token;
}

interface ClusterStatus {
  readonly nodes: readonly {
    readonly name: string;
    readonly duties: readonly string[];
    readonly seconds_silent: number;
  }[];
}

async function clusterStatus(): Promise<ClusterStatus> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(PACKAGE_ROOT, "dist/src/cli.js"), "cluster", "status", "--json"],
    { env: { ...cluster.env, PATH: process.env.PATH } },
  );
  return JSON.parse(stdout) as ClusterStatus;
}

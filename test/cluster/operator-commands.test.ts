/** What an operator changes in a cluster by commands while its nodes run. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { entropyPhrase } from "../../src/crypto/wallets/seal-phrase.js";
import { PERMISSIONS, holdsAll } from "../../src/platform/auth/permissions.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { TestCluster } from "../support/cluster.js";
import { eventually } from "../support/eventually.js";
import type { TestServer } from "../support/server.js";

const METRICS = { PROOFWRIGHT_METRICS_PORT: "0" };
const PASSWORD = "a phrase that nobody guesses 7";

let cluster: TestCluster;
let nodes: readonly TestServer[];

beforeAll(async () => {
  cluster = await TestCluster.make();
  nodes = [await cluster.start("one", METRICS), await cluster.start("two", METRICS)];
});
afterAll(async () => {
  await cluster.dispose();
});

async function run(args: readonly string[], input = ""): Promise<{ status: number; output: string; errors: string }> {
  const child = spawn(process.execPath, [join(PACKAGE_ROOT, "dist/src/cli.js"), ...args], {
    env: { ...cluster.env, PATH: process.env.PATH, TMPDIR: process.env.TMPDIR },
  });
  child.stdin.end(input);
  const ended = new Promise<number>((resolve) => child.once("exit", (status) => resolve(status ?? -1)));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { status: await ended, output, errors };
}

async function statusOf(server: TestServer, token: string): Promise<number> {
  return (await fetch(`${server.url}/api/v1/vaults`, { headers: { authorization: `Bearer ${token}` } })).status;
}

/** The members by the log: what a command leaves behind would be waited for. */
async function memberCount(server: TestServer): Promise<string | undefined> {
  const metrics = /^Proofwright serves metrics on (http:\S+)$/m.exec(server.output())?.[1] ?? "";
  return /^proofwright_cluster_nodes (\d+)$/m.exec(await (await fetch(`${metrics}/metrics`)).text())?.[1];
}

describe("rotate-keys", () => {
  it("refuses a key that was published too late, and replaces all in an emergency: old tokens are void everywhere", async () => {
    const user = await nodes[0]!.newUser();
    for (const node of nodes) expect(await statusOf(node, user.token)).toBe(200);
    expect(await run(["rotate-keys"])).toMatchObject({ status: 2, output: "" });
    for (const node of nodes) expect(await statusOf(node, user.token)).toBe(200);

    expect(await run(["rotate-keys", "--emergency"])).toMatchObject({ status: 0, errors: "" });
    await eventually(async () => {
      for (const node of nodes) expect(await statusOf(node, user.token)).toBe(401);
    });
    const { email, password } = user;
    const again = (await nodes[1]!.anonymous.authenticate({ body: { email, password } })).body.token.access_token;
    for (const node of nodes) expect(await statusOf(node, again)).toBe(200);
  });
});

describe("create-admin", () => {
  it("makes an administrator, and one of a user, whom all nodes know, and leaves no node behind", async () => {
    const made = await run(["create-admin", "--email=root@example.com"], `${PASSWORD}\n`);
    expect(made).toMatchObject({ status: 0, errors: "" });
    expect(made.output).toContain("root@example.com is an administrator");
    const user = await nodes[0]!.newUser();
    expect(await run(["create-admin", "--promote", `--email=${user.email}`])).toMatchObject({ status: 0 });
    // What the user had before is void.
    for (const node of nodes) expect(await statusOf(node, user.token)).toBe(401);
    for (const [email, password] of [
      ["root@example.com", PASSWORD],
      [user.email, user.password],
    ] as const)
      for (const node of nodes) {
        const { body } = await node.anonymous.authenticate({ body: { email, password } });
        expect(holdsAll(body.user.permissions, PERMISSIONS.sudo)).toBe(true);
      }
    for (const node of nodes) expect(await memberCount(node)).toBe("2");
  });

  it("says what is wrong, and leaves nothing then either", async () => {
    const twice = await run(["create-admin", "--email=root@example.com"], `${PASSWORD}\n`);
    expect(twice).toMatchObject({ status: 2, output: "" });
    expect(twice.errors).not.toMatch(/\n\s+at /);
    for (const node of nodes) expect(await memberCount(node)).toBe("2");
  });
});

describe("rekey", () => {
  it("seals all nodes, which the new key alone opens, and keeps what the vaults have", async () => {
    const { api, email, password } = await nodes[0]!.newUser();
    const { id } = (await api.createVault({ body: { name: "v" } })).body;
    const body = { name: "n", type: "t", value: "kept" };
    const secret = (await api.createSecret({ params: { id }, body })).body.id;
    const phrase = Buffer.from(entropyPhrase(randomBytes(32))).toString("utf8");
    const words = (old: string): string => `${old}\n${phrase}\n`;

    expect(await run(["rekey"], words(`${"abandon ".repeat(23)}art`))).toMatchObject({ status: 2, output: "" });
    expect(await sealedNodes()).toEqual([false, false]);
    const changed = await run(["rekey"], words(cluster.phrase));
    expect(changed).toMatchObject({ status: 0, errors: "" });
    expect(changed.output).toContain("All nodes are sealed");
    expect(await sealedNodes()).toEqual([true, true]);
    expect(await run(["rekey"], words(cluster.phrase))).toMatchObject({ status: 2, output: "" });

    const [hash] = /[0-9a-f]{64}/.exec(changed.output) ?? [];
    const env = { ...METRICS, SEAL_UNSEAL_KEY: phrase, SEAL_UNSEAL_VALIDATION_HASH: hash ?? "" };
    for (const node of nodes) await node.end();
    nodes = [await cluster.start("one", env), await cluster.start("two", env)];
    expect(await sealedNodes()).toEqual([false, false]);
    for (const node of nodes) {
      const { token } = (await node.anonymous.authenticate({ body: { email, password } })).body;
      const read = await node.as(token.access_token).getSecret({ params: { id, secret_id: secret } });
      expect(read.body.value).toBe("kept");
    }
  });
});

async function sealedNodes(): Promise<boolean[]> {
  return await Promise.all(nodes.map(async (node) => (await node.anonymous.getSealStatus({})).body.sealed));
}

// What an operator does with the vault, on a real server: unseal, rekey, verify the audit log; and that no secret is
// ever left behind.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { startServer, type TestServer } from "../../support/server.js";
import { OTHER_HASH, OTHER_PHRASE, PHRASE, PHRASE_HASH } from "../../vault/support.js";
import { newFolder } from "../../support/temporary-folder.js";

const ENV = { SEAL_UNSEAL_VALIDATION_HASH: PHRASE_HASH };
let folder: string;
beforeAll(() => {
  folder = newFolder("operator");
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the command with a text on its standard input. */
async function run(
  args: readonly string[],
  input = "",
  env: Readonly<Record<string, string>> = {},
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [join(PACKAGE_ROOT, "dist/src/cli.js"), ...args], {
    env: { PATH: process.env.PATH, ...env },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  child.stdin.end(input);
  return await new Promise((resolve) => {
    child.once("close", (status) => {
      resolve({ status, stdout, stderr });
    });
  });
}

async function unseal(server: TestServer, token: string, phrase: string): Promise<number> {
  return (
    await fetch(`${server.url}/api/v1/unseal`, {
      method: "POST",
      headers: { authorization: `bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ key: phrase }),
    })
  ).status;
}

describe("rekey and audit", () => {
  it("give a stopped store a new seal key, keep every secret, and stay in the log", async () => {
    const dataDir = join(folder, "rekey");
    let server = await startServer({ dataDir, env: ENV });
    const { token, api, userId, email, password } = await server.newUser();
    expect(await unseal(server, token, OTHER_PHRASE)).toBe(403);
    expect(await unseal(server, token, PHRASE)).toBe(204);
    const vault = (await api.createVault({ body: { name: "v" } })).body.id;
    const secret = (await api.createSecret({ params: { id: vault }, body: { name: "n", type: "t", value: "kept" } }))
      .body.id;
    await api.getSecret({ params: { id: vault, secret_id: secret } });
    const seen = await api.listAudit({ query: {} });
    expect(seen.body.map(({ action, outcome }) => `${action} ${outcome}`).slice(0, 3)).toEqual([
      "getSecret ok",
      "createSecret ok",
      "createVault ok",
    ]);
    expect(seen.body.every(({ subject }) => subject === `user:${userId}`)).toBe(true);
    expect(seen.body.map(({ action, code }) => [action, code])).toContainEqual(["unseal", "seal_key_rejected"]);
    await expect(api.listAudit({ query: { subject: "all" } })).rejects.toMatchObject({ status: 403 });

    const busy = await run(["rekey", `--data-dir=${dataDir}`], `${PHRASE}\n${OTHER_PHRASE}\n`);
    expect([busy.status, busy.stderr]).toEqual([2, expect.stringContaining("in use by process")]);
    // Verification works beside a running server.
    expect(await run(["audit", "verify", `--data-dir=${dataDir}`])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/records, all linked/) as string,
    });
    expect(await server.end()).toBe(0);

    const wrong = await run(["rekey", `--data-dir=${dataDir}`], `${OTHER_PHRASE}\n${PHRASE}\n`);
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining("not the one of this store")]);
    expect(await run(["rekey", `--data-dir=${dataDir}`], `${PHRASE}\nnot a phrase\n`)).toMatchObject({ status: 2 });
    expect(await run(["rekey", `--data-dir=${dataDir}`], `${PHRASE}\n`)).toMatchObject({ status: 2 });
    const done = await run(["rekey", `--data-dir=${dataDir}`], `${PHRASE}\n${OTHER_PHRASE}\n`);
    expect([done.status, done.stderr]).toEqual([0, ""]);
    expect(done.stdout).toContain(`SEAL_UNSEAL_VALIDATION_HASH=0x${OTHER_HASH}`);
    for (const word of ["legal", "abandon"]) expect(done.stdout + wrong.stderr + busy.stderr).not.toContain(word);

    server = await startServer({ dataDir, env: { SEAL_UNSEAL_VALIDATION_HASH: OTHER_HASH } });
    const again = (await server.anonymous.authenticate({ body: { email, password } })).body.token.access_token;
    expect(await unseal(server, again, PHRASE)).toBe(403);
    expect(await unseal(server, again, OTHER_PHRASE)).toBe(204);
    expect((await server.as(again).getSecret({ params: { id: vault, secret_id: secret } })).body.value).toBe("kept");
    await server.dispose();

    const verified = await run(["audit", "verify", `--data-dir=${dataDir}`]);
    expect(verified.status).toBe(0);
    const anchor = /^\d+:[0-9a-f]{64}$/m.exec(verified.stdout)?.[0] ?? "";
    expect(await run(["audit", "verify", `--data-dir=${dataDir}`, `--anchor=${anchor}`])).toMatchObject({ status: 0 });
    expect(await run(["audit", "verify", `--data-dir=${dataDir}`, `--anchor=999999:${"0".repeat(64)}`])).toMatchObject({
      status: 1,
    });
    const lines = (await run(["audit", "export", `--data-dir=${dataDir}`])).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { event: { action: string } });
    expect(String(lines.length)).toBe(anchor.split(":")[0]);
    expect(lines.filter(({ event }) => event.action === "seal.rekeyed").length).toBe(1);
    expect(lines[0]?.event.action).toBe("audit.started");
  }, 120_000);
});

describe("canaries", () => {
  it("in every member of every kind of request are in no log, no error, no audit record and, as they are, in no file", async () => {
    const dataDir = join(folder, "canary");
    const server = await startServer({ dataDir, env: ENV, flags: ["--log-level=debug"] });
    const canaries: string[] = [];
    const canary = (): string => {
      const text = `canary${randomBytes(12).toString("hex")}`;
      canaries.push(text);
      return text;
    };
    const { token, api, email, password, refreshToken } = await server.newUser();
    canaries.push(password, token, ...(refreshToken === undefined ? [] : [refreshToken]));
    await unseal(server, token, PHRASE);
    const errors: string[] = [];
    const post = async (
      path: string,
      body: string | Uint8Array,
      headers: Record<string, string> = {},
    ): Promise<void> => {
      const response = await fetch(`${server.url}${path}`, {
        method: "POST",
        headers: { authorization: `bearer ${token}`, "content-type": "application/json", ...headers },
        body,
      });
      if (response.status >= 400) errors.push(await response.text());
    };
    const vault = (await api.createVault({ body: { name: "v" } })).body.id;
    const secretValue = canary();
    const secret = (
      await api.createSecret({ params: { id: vault }, body: { name: "n", type: "t", value: secretValue } })
    ).body.id;
    expect((await api.getSecret({ params: { id: vault, secret_id: secret } })).body.value).toBe(secretValue);
    const key = (await api.createKey({ params: { id: vault }, body: { spec: "AES-256-GCM", name: "k" } })).body.id;
    const keyPath = `/api/v1/vaults/${vault}/keys/${key}`;
    await post(`${keyPath}/encrypt`, JSON.stringify({ data: canary() }));
    await post(`${keyPath}/decrypt`, JSON.stringify({ data: canary(), context: canary() }));
    await post(`${keyPath}/sign`, JSON.stringify({ message: canary() }));
    // Malformed requests are where others leaked: broken JSON, wrong types, unknown members, wrong content types, too
    // long, bad UTF-8.
    for (const path of [
      `/api/v1/vaults/${vault}/secrets`,
      `${keyPath}/encrypt`,
      `${keyPath}/decrypt`,
      `${keyPath}/sign`,
      `${keyPath}/derive`,
      "/api/v1/unseal",
      "/api/v1/seal",
      "/api/v1/authenticate",
      "/api/v1/users",
      "/api/v1/tokens",
      "/api/v1/vaults",
    ]) {
      await post(path, `{"value": "${canary()}"`);
      await post(
        path,
        JSON.stringify({
          value: [canary()],
          key: canary(),
          password: { nested: canary() },
          refresh_token: canary(),
          nonce: canary(),
        }),
      );
      await post(
        path,
        JSON.stringify({ name: canary(), type: canary(), email: `${canary()}@example.com`, password: canary() }),
        { "content-type": "text/plain" },
      );
      await post(path, JSON.stringify({ value: canary().repeat(2000) }));
      await post(path, Buffer.concat([Buffer.from(`{"value":"${canary()}`), Buffer.of(0xff, 0xfe), Buffer.from('"}')]));
      await post(`${path}?value=${canary()}`, "{}", { "x-canary": canary(), authorization: `bearer ${canary()}` });
    }
    await post("/api/v1/authenticate", JSON.stringify({ email, password: canary() }));
    await post("/api/v1/unseal", JSON.stringify({ key: `${canary()} ${"abandon ".repeat(22)}art` }));
    const issued = (await (
      await fetch(`${server.url}/api/v1/unsealerkey`, { method: "POST", headers: { authorization: `bearer ${token}` } })
    ).json()) as { key: string };
    canaries.push(issued.key, PHRASE);
    expect(await server.end()).toBe(0);

    const audit = (await run(["audit", "export", `--data-dir=${dataDir}`])).stdout;
    expect(audit).toContain("unseal");
    const found = (where: string, text: string | Buffer): string[] =>
      canaries.filter((one) => text.includes(one)).map((one) => `${where}: ${one.slice(0, 12)}`);
    expect(found("log", server.output())).toEqual([]);
    expect(found("errors", errors.join("\n"))).toEqual([]);
    expect(found("audit", audit)).toEqual([]);
    expect(errors.length).toBeGreaterThan(60);
    for (const file of readdirSync(dataDir, { recursive: true }) as string[]) {
      const path = join(dataDir, file);
      if (statSync(path).isFile()) expect(found(file, readFileSync(path))).toEqual([]);
    }
  }, 120_000);
});

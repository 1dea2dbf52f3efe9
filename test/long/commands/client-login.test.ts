/** `proofwright login` with a browser and on another device, and the lock of the profiles, against one real server. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runClient, startClient, type ClientEnvironment } from "../../support/client-process.js";
import { startServer, type TestServer } from "../../support/server.js";
import { folderOfTest } from "../../support/temporary-folder.js";

let server: TestServer;
let user: Awaited<ReturnType<TestServer["newUser"]>>;

beforeAll(async () => {
  server = await startServer();
  user = await server.newUser();
});

afterAll(async () => {
  await server.dispose();
});

interface StoredProfile {
  readonly access_token: string;
  readonly refresh_token: string;
  expires_at_ms: number;
}

function environment(): ClientEnvironment {
  return { XDG_CONFIG_HOME: folderOfTest("config") };
}

function pathOf(env: ClientEnvironment): string {
  return join(env.XDG_CONFIG_HOME, "proofwright", "profiles.json");
}

function storedProfile(env: ClientEnvironment): StoredProfile {
  return (JSON.parse(readFileSync(pathOf(env), "utf8")) as { profiles: { default: StoredProfile } }).profiles.default;
}

/** Fills a page of the server as a browser does, and returns the answer without following it. */
async function submitPage(page: URL, typed: Readonly<Record<string, string>>): Promise<Response> {
  const html = await (await fetch(page)).text();
  const hidden = [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(
    ([, name = "", value = ""]): [string, string] => [name, value.replaceAll("&amp;", "&").replaceAll("&#39;", "'")],
  );
  const body = new URLSearchParams([...hidden, ...Object.entries(typed)]);
  return await fetch(new URL(page.pathname, page), { method: "POST", redirect: "manual", body });
}

describe("login with a browser", () => {
  it("keeps a session of the user's own rights, without those of administrators, and renews and ends it", async () => {
    const env = environment();
    const login = startClient(["login", "--no-browser", `--server=${server.url}`, "--json"], env);
    const [address] = await login.printed(/http:\S+/);
    const answer = await submitPage(new URL(address), {
      email: user.email,
      password: user.password,
      decision: "allow",
    });
    expect(answer.status).toBe(303);
    expect((await fetch(answer.headers.get("location")!)).status).toBe(200);
    const outcome = await login.ended;
    expect(outcome).toMatchObject({ status: 0 });
    expect(JSON.parse(outcome.output)).toMatchObject({ user_id: user.userId, email: user.email });
    expect(outcome.output + outcome.errors).not.toContain(user.password);

    expect(await runClient(["vault", "create", "mine"], env)).toMatchObject({ status: 0 });
    expect(await runClient(["seal", "now"], env, "abandon ".repeat(24))).toMatchObject({ status: 3 });

    const before = storedProfile(env);
    writeFileSync(pathOf(env), JSON.stringify({ format: 1, profiles: { default: { ...before, expires_at_ms: 0 } } }));
    expect(await runClient(["whoami"], env)).toMatchObject({ status: 0, errors: "" });
    expect(storedProfile(env).refresh_token).not.toBe(before.refresh_token);

    const { access_token: token } = storedProfile(env);
    expect(await runClient(["logout"], env)).toMatchObject({ status: 0, errors: "" });
    await expect(server.as(token).listProvers()).rejects.toMatchObject({ status: 401 });
  });

  it("answers nobody who has not the state, and tells that the user denied it", async () => {
    const env = environment();
    const login = startClient(["login", "--no-browser", `--server=${server.url}`], env);
    const [address] = await login.printed(/http:\S+/);
    const callback = new URL(new URL(address).searchParams.get("redirect_uri")!);
    for (const query of ["", "?code=x", "?code=x&state=y", `?code=x&state=${"y".repeat(43)}`])
      expect((await fetch(new URL(query, callback))).status, query).toBe(404);
    const denied = await submitPage(new URL(address), { decision: "deny" });
    await fetch(denied.headers.get("location")!);
    expect(await login.ended).toMatchObject({ status: 2, output: "" });
    expect((await runClient(["whoami"], env)).errors).toContain("proofwright login");
  });

  it("sends codes of the built-in client to this machine only", async () => {
    const env = environment();
    const login = startClient(["login", "--no-browser", `--server=${server.url}`], env);
    const [address] = await login.printed(/http:\S+/);
    for (const target of ["https://evil.example/callback", "http://127.0.0.1:9/other", "http://localhost:9/callback"]) {
      const page = new URL(address);
      page.searchParams.set("redirect_uri", target);
      expect((await fetch(page, { redirect: "manual" })).status, target).toBe(422);
    }
    login.child.kill();
    await login.ended;
  });
});

describe("login on another device", () => {
  it("needs a client that may use the device flow, and takes the user's approval", async () => {
    const env = environment();
    const flags = ["login", "--device", `--server=${server.url}`];
    expect(await runClient(flags, env)).toMatchObject({ status: 2, output: "" });
    const { id } = (await user.api.createApplication({ body: { name: "Build machine" } })).body;
    await user.api.updateApplicationClient({ params: { id }, body: { public: true } });
    const refused = await runClient([...flags, `--client-id=${id}`], env);
    expect(refused).toMatchObject({ status: 3, output: "" });
    expect(refused.errors).toContain("device_flow");
    await user.api.updateApplicationClient({ params: { id }, body: { device_flow: true } });
    const login = startClient([...flags, `--client-id=${id}`], env);
    const [, address = "", code = ""] = await login.printed(/Open (\S+) in a browser and enter the code (\S+)/);
    // The server names itself by its issuer, which has no address here.
    const page = new URL(new URL(address).pathname, server.url);
    page.searchParams.set("user_code", code);
    const typed = { email: user.email, password: user.password, decision: "allow" };
    expect((await submitPage(page, typed)).status).toBe(200);
    expect(await login.ended).toMatchObject({ status: 0 });
    expect(await runClient(["whoami"], env)).toMatchObject({ status: 0 });
  });
});

describe("commands at once", () => {
  it("renew a token once, and both go on with what was renewed", async () => {
    const env = environment();
    const login = ["login", `--server=${server.url}`, `--email=${user.email}`];
    await runClient(login, env, user.password);
    await runClient([...login, "--profile=other"], env, user.password);
    const file = JSON.parse(readFileSync(pathOf(env), "utf8")) as { profiles: Record<string, StoredProfile> };
    for (const profile of Object.values(file.profiles)) profile.expires_at_ms = 0;
    writeFileSync(pathOf(env), JSON.stringify(file));
    const outcomes = await Promise.all(
      ["default", "default", "other", "other"].map(async (name) => runClient(["whoami", `--profile=${name}`], env)),
    );
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 0, errors: "" });
    const after = JSON.parse(readFileSync(pathOf(env), "utf8")) as { profiles: Record<string, StoredProfile> };
    for (const [name, { expires_at_ms: expiresAtMs, refresh_token: refreshToken }] of Object.entries(after.profiles)) {
      expect(expiresAtMs, name).toBeGreaterThan(Date.now());
      expect(refreshToken, name).not.toBe(file.profiles[name]!.refresh_token);
    }
  });
});

/** `proofwright signup`, and the main job from the command line as the README has it, against one real server. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { runClient, type ClientEnvironment } from "../../support/client-process.js";
import { startServer, type TestServer } from "../../support/server.js";
import { folderOfTest } from "../../support/temporary-folder.js";

const PASSWORD = "a long phrase of my own";
/** The README's block of the command line. */
const [, BLOCK = ""] =
  /```sh\n(npx proofwright signup [^]*?)```/.exec(readFileSync(join(PACKAGE_ROOT, "README.md"), "utf8")) ?? [];

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(async () => {
  await server.dispose();
});

function environment(): ClientEnvironment {
  return { XDG_CONFIG_HOME: folderOfTest("config"), PW_SERVER: server.url };
}

function signUp(email: string, ...more: readonly string[]): readonly string[] {
  return ["signup", `--email=${email}`, "--first-name=Grace", "--last-name=Hopper", ...more];
}

describe("signing up", () => {
  it("creates a user, who is logged in then, and keeps the password to itself", async () => {
    const env = environment();
    const outcome = await runClient(signUp("new@example.com", "--json"), env, PASSWORD);
    expect(outcome).toMatchObject({ status: 0 });
    expect(JSON.parse(outcome.output)).toMatchObject({ profile: "default", email: "new@example.com" });
    expect(outcome.output + outcome.errors).not.toContain(PASSWORD);
    const profiles = readFileSync(join(env.XDG_CONFIG_HOME, "proofwright", "profiles.json"), "utf8");
    expect(profiles).not.toContain(PASSWORD);
    expect((await runClient(["whoami"], env)).output).toContain("new@example.com");
  });

  it("tells in the server's words what is refused, and keeps no profile", async () => {
    const env = environment();
    const weak = await runClient(signUp("weak@example.com"), env, "password");
    expect(weak).toMatchObject({ status: 3, output: "" });
    expect(weak.errors).toContain("password");
    const nameless = await runClient(["signup", "--email=nobody@example.com"], env, PASSWORD);
    expect(nameless).toMatchObject({ status: 3, output: "" });
    expect(nameless.errors).toContain("first_name");
    expect(existsSync(join(env.XDG_CONFIG_HOME, "proofwright", "profiles.json"))).toBe(false);
  });

  it("makes the first administrator with the token of a new server, once", async () => {
    const env = environment();
    const file = join(server.dataDir, "bootstrap-token");
    expect(await runClient(signUp("first@example.com", `--bootstrap-file=${file}`), env, PASSWORD)).toMatchObject({
      status: 0,
    });
    expect(await runClient(["admin", "users"], env)).toMatchObject({ status: 0 });
    const again = await runClient(signUp("second@example.com", `--bootstrap-file=${file}`), env, PASSWORD);
    expect(again).toMatchObject({ status: 2, output: "" });
    expect(again.errors).toContain("has its first administrator");
  });
});

describe("the main job from the command line", () => {
  it("runs as the README has it, and fails at the first command that does", async () => {
    const folder = folderOfTest("work");
    mkdirSync(folder, { recursive: true });
    const script = BLOCK.replaceAll(
      "npx proofwright",
      `"${process.execPath}" ${join(PACKAGE_ROOT, "dist/src/cli.js")}`,
    );
    writeFileSync(join(folder, "block.sh"), script);
    const options = { cwd: folder, env: { PATH: process.env.PATH, ...environment() } };
    const running = promisify(execFile)("bash", ["-euo", "pipefail", "block.sh"], options);
    running.child.stdin?.end(`${PASSWORD}\n`);
    const { stdout } = await running;
    expect(stdout).toContain("grace@example.com is logged in");
    expect(stdout).toContain("The proof is valid");
  });
});

describe("deleting oneself", () => {
  it("needs --myself, and forgets the login", async () => {
    const env = environment();
    await runClient(signUp("leaver@example.com"), env, PASSWORD);
    const refused = await runClient(["admin", "delete-user", "Leaver@Example.com"], env);
    expect(refused).toMatchObject({ status: 2, output: "" });
    expect(refused.errors).toContain("--myself");
    expect(await runClient(["admin", "delete-user", "leaver@example.com", "--myself"], env)).toMatchObject({
      status: 0,
    });
    const after = await runClient(["vault", "list"], env);
    expect(after.status).toBe(4);
    expect(after.errors).toContain("nobody is logged in");
  });

  it("is no way to delete another", async () => {
    const env = environment();
    await runClient(signUp("stays@example.com"), env, PASSWORD);
    const other = await server.newUser();
    const outcome = await runClient(["admin", "delete-user", other.userId, "--myself"], env);
    expect(outcome).toMatchObject({ status: 2 });
    expect((await runClient(["whoami"], env)).output).toContain("stays@example.com");
  });
});

describe("a session that has ended", () => {
  it("is answered by what to do, as a token of PW_TOKEN is", async () => {
    const env = environment();
    await runClient(signUp("ended@example.com", "--profile=work"), env, PASSWORD);
    const profiles = JSON.parse(readFileSync(join(env.XDG_CONFIG_HOME, "proofwright", "profiles.json"), "utf8")) as {
      profiles: { work: { access_token: string } };
    };
    await server.as(profiles.profiles.work.access_token).deleteTokens({});
    const ended = await runClient(["vault", "list", "--profile=work"], env);
    expect(ended.status).toBe(4);
    expect(ended.errors).toContain("Run `proofwright login --profile=work`");
    const token = await runClient(["vault", "list"], { ...env, PW_TOKEN: profiles.profiles.work.access_token });
    expect(token.status).toBe(4);
    expect(token.errors).toContain("PW_TOKEN");
  });
});

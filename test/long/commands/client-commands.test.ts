/** The client's commands as processes against one real server: what each does, prints and exits with, and its failure. */
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync, chmodSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { startServer, type TestServer } from "../../support/server.js";
import { folderOfTest, newFolder, removeFolder } from "../../support/temporary-folder.js";

let server: TestServer;
let user: Awaited<ReturnType<TestServer["newUser"]>>;
/** Of the user who is logged in. */
let config: string;

beforeAll(async () => {
  server = await startServer();
  user = await server.newUser();
  config = newFolder("client");
  const login = await run(["login", `--server=${server.url}`, `--email=${user.email}`], { input: user.password });
  expect(login).toMatchObject({ status: 0, errors: "" });
});

afterAll(async () => {
  await server.dispose();
  removeFolder(config);
});

interface Outcome {
  readonly status: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Runs the built command. */
async function run(
  args: readonly string[],
  { input = "", env = {} }: { readonly input?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Outcome> {
  const child = spawn(process.execPath, [join(PACKAGE_ROOT, "dist/src/cli.js"), ...args], {
    env: { PATH: process.env.PATH, XDG_CONFIG_HOME: config, ...env },
  });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdin.end(input);
  return await new Promise((resolve) => {
    child.on("close", (status) => {
      resolve({ status, output, errors });
    });
  });
}

/** A folder with a circuit of its own name. */
async function circuitFolder(name: string): Promise<string> {
  const folder = join(folderOfTest("circuit"), name);
  expect(await run(["circuit", "init", folder])).toMatchObject({ status: 0 });
  return folder;
}

describe("login", () => {
  it("keeps tokens where only their user reads them, and never the password", () => {
    const file = join(config, "proofwright", "profiles.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(config, "proofwright")).mode & 0o777).toBe(0o700);
    expect(readFileSync(file, "utf8")).not.toContain(user.password);
    expect(readdirSync(join(config, "proofwright"))).toEqual(["profiles.json"]);
  });

  it("refuses a wrong password, and keeps nothing", async () => {
    const empty = folderOfTest("config");
    const outcome = await run(["login", `--server=${server.url}`, `--email=${user.email}`], {
      input: "another phrase",
      env: { XDG_CONFIG_HOME: empty },
    });
    expect(outcome).toMatchObject({ status: 4, output: "" });
    expect(outcome.errors).not.toContain("another phrase");
    expect(readdirSync(empty)).toEqual([]);
  });

  it("sends no password over plain http beyond this machine, nor waits for a browser without a server", async () => {
    const plain = await run(["login", "--server=http://proofwright.example.com", "--email=a@example.com"]);
    expect(plain).toMatchObject({ status: 2 });
    expect(plain.errors).toContain("https://");
    // Nothing listens on port 1.
    const nowhere = await run(["login", "--server=http://127.0.0.1:1"]);
    expect(nowhere).toMatchObject({ status: 5, output: "" });
    expect(nowhere.errors).not.toContain("browser");
    for (const other of ["--device", "--client-id=x"])
      expect(await run(["login", "--email=a@example.com", other])).toMatchObject({ status: 2, output: "" });
  });

  it("refuses a file of tokens that others may read", async () => {
    const own = folderOfTest("config");
    mkdirSync(join(own, "proofwright"));
    writeFileSync(join(own, "proofwright", "profiles.json"), '{"format":1,"profiles":{}}');
    chmodSync(join(own, "proofwright", "profiles.json"), 0o644);
    const outcome = await run(["whoami"], { env: { XDG_CONFIG_HOME: own } });
    expect(outcome).toMatchObject({ status: 2 });
    expect(outcome.errors).toContain("chmod 600");
  });

  it("says who is logged in, and that nobody is", async () => {
    const outcome = await run(["whoami", "--json"]);
    expect(JSON.parse(outcome.output)).toMatchObject({ server: server.url, user: { id: user.userId } });
    expect(await run(["whoami", "--profile=nobody"])).toMatchObject({ status: 4, output: "" });
  });

  it("does not send a profile's token to another server", async () => {
    const outcome = await run(["circuit", "list", "--server=http://127.0.0.1:1"]);
    expect(outcome).toMatchObject({ status: 2 });
    expect(outcome.errors).toContain(server.url);
  });

  it("renews a token that is about to expire", async () => {
    const own = folderOfTest("config");
    const env = { XDG_CONFIG_HOME: own };
    await run(["login", `--server=${server.url}`, `--email=${user.email}`], { input: user.password, env });
    const path = join(own, "proofwright", "profiles.json");
    const file = JSON.parse(readFileSync(path, "utf8")) as {
      profiles: { default: { expires_at_ms: number; refresh_token: string } };
    };
    const before = file.profiles.default.refresh_token;
    file.profiles.default.expires_at_ms = 0;
    writeFileSync(path, JSON.stringify(file));
    expect(await run(["whoami"], { env })).toMatchObject({ status: 0, errors: "" });
    const after = JSON.parse(readFileSync(path, "utf8")) as typeof file;
    expect(after.profiles.default.refresh_token).not.toBe(before);
    expect(after.profiles.default.expires_at_ms).toBeGreaterThan(Date.now());
  });
});

describe("logout", () => {
  it("ends the session on the server, and forgets its tokens", async () => {
    const own = folderOfTest("config");
    const env = { XDG_CONFIG_HOME: own };
    await run(["login", `--server=${server.url}`, `--email=${user.email}`], { input: user.password, env });
    const path = join(own, "proofwright", "profiles.json");
    const { profiles } = JSON.parse(readFileSync(path, "utf8")) as { profiles: { default: { access_token: string } } };
    expect(await run(["logout"], { env })).toMatchObject({ status: 0, errors: "" });
    expect(readFileSync(path, "utf8")).not.toContain(profiles.default.access_token);
    await expect(server.as(profiles.default.access_token).listProvers()).rejects.toMatchObject({ status: 401 });
    expect(await run(["logout"], { env })).toMatchObject({ status: 4 });
  });
});

describe("a circuit's folder", () => {
  it("is begun, checked, deployed once, proved with and verified", async () => {
    const folder = await circuitFolder("product");
    expect(await run(["circuit", "check", folder])).toMatchObject({ status: 0, errors: "" });
    const manifest = JSON.parse(readFileSync(join(folder, "proofwright.json"), "utf8")) as object;
    for (const [curve, status] of [
      ["bls12-381", 0],
      ["secp256k1", 2],
    ] as const) {
      writeFileSync(join(folder, "proofwright.json"), JSON.stringify({ ...manifest, curve }));
      expect(await run(["circuit", "check", folder]), curve).toMatchObject({ status });
    }
    writeFileSync(join(folder, "proofwright.json"), JSON.stringify(manifest));
    const first = await run(["circuit", "deploy", folder, "--json"]);
    expect(first).toMatchObject({ status: 0, errors: "" });
    const deployed = JSON.parse(first.output) as { id: string; created: boolean };
    expect(deployed.created).toBe(true);
    const again = await run(["circuit", "deploy", folder, "--json"]);
    expect(JSON.parse(again.output)).toMatchObject({ id: deployed.id, created: false });
    expect((await run(["circuit", "list"])).output).toContain(`${deployed.id}  provisioned`);

    const file = (name: string, value: unknown): string => {
      writeFileSync(join(folder, name), JSON.stringify(value));
      return join(folder, name);
    };
    const proof = join(folder, "proof.json");
    const inputs = file("inputs.json", { a: "3", b: "11" });
    const proving = ["prove", deployed.id, `--inputs=${inputs}`];
    expect(await run([...proving, `--output=${proof}`])).toMatchObject({ status: 0, errors: "" });
    const verifying = ["verify", deployed.id, `--proof=${proof}`];
    expect(await run(verifying)).toMatchObject({ status: 0, output: "The proof is valid.\n" });
    const other = file("other.json", { c: "34" });
    expect(await run([...verifying, `--inputs=${other}`, "--json"])).toMatchObject({
      status: 1,
      output: '{"result":false}\n',
    });
    const wrong = file("wrong.json", { a: "3" });
    expect(await run(["prove", deployed.id, `--inputs=${wrong}`])).toMatchObject({ status: 3, output: "" });

    const started = await run([...proving, "--async", "--json"]);
    expect(started).toMatchObject({ status: 0, errors: "" });
    const { id: job } = JSON.parse(started.output) as { id: string };
    const waited = await run(["job", "wait", job]);
    expect(waited).toMatchObject({ status: 0, errors: "" });
    expect(JSON.parse(waited.output)).toMatchObject({ public_signals: ["33"] });
    expect((await run(["job", "list", "--status=succeeded"])).output).toContain(`${job}  `);
    expect((await run(["job", "show", job, "--json"])).output).toContain('"status":"succeeded"');
    expect(await run(["job", "cancel", job])).toMatchObject({ status: 0, errors: "" });
    expect(await run(["job", "show", job])).toMatchObject({ status: 3, output: "" });
    const unequal = file("unequal.json", { a: "3", b: "11", c: "34" });
    const doomed = await run(["prove", deployed.id, `--inputs=${unequal}`, "--async", "--json"]);
    const failed = await run(["job", "wait", (JSON.parse(doomed.output) as { id: string }).id]);
    expect(failed).toMatchObject({ status: 1, output: "" });
    expect(failed.errors).toMatch(/^proofwright: .+\n$/);

    const to = join(folder, "files");
    const pulled = await run(["artifacts", "pull", deployed.id, "verifying_key.json", `--to=${to}`]);
    expect(pulled).toMatchObject({ status: 0, errors: "" });
    expect(JSON.parse(readFileSync(join(to, "verifying_key.json"), "utf8"))).toMatchObject({ protocol: "groth16" });
    expect(await run(["artifacts", "pull", deployed.id, "../x", `--to=${to}`])).toMatchObject({ status: 2 });
  });

  it("that does not compile is told with the place, here and by the server", async () => {
    const folder = await circuitFolder("broken");
    writeFileSync(
      join(folder, "main.circom"),
      "pragma circom 2.1.0;\ntemplate A() { signal input a; b <== a; }\ncomponent main = A();\n",
    );
    const check = await run(["circuit", "check", folder]);
    expect(check).toMatchObject({ status: 1 });
    expect(check.output).toContain("main.circom:2");
    expect(await run(["circuit", "deploy", folder])).toMatchObject({ status: 1, output: "" });
  });

  it("is refused without its files, and begun only once", async () => {
    const folder = await circuitFolder("twice");
    expect(await run(["circuit", "init", folder])).toMatchObject({ status: 2 });
    rmSync(join(folder, "main.circom"));
    expect((await run(["circuit", "deploy", folder])).errors).toContain("main.circom");
    rmSync(join(folder, "proofwright.json"));
    expect((await run(["circuit", "check", folder])).errors).toContain("circuit init");
  });
});

describe("the command line", () => {
  it("tells its version, and helps with every command", async () => {
    const { version } = JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8")) as { version: string };
    expect(await run(["--version"])).toEqual({ status: 0, output: `${version}\n`, errors: "" });
    for (const command of [["login"], ["circuit"], ["circuit", "deploy"], ["artifacts", "pull"]]) {
      const help = await run([...command, "--help"]);
      expect(help, command.join(" ")).toMatchObject({ status: 0, errors: "" });
      expect(help.output).toContain(`Usage: proofwright ${command.join(" ")}`);
    }
    expect(await run(["circuit", "deplo"])).toMatchObject({ status: 2 });
    expect(JSON.parse((await run(["circuit", "schema"])).output)).toMatchObject({ title: "proofwright.json" });
  });

  it("says that a server cannot be reached, and that a token is no good", async () => {
    const gone = await run(["circuit", "list"], { env: { PW_TOKEN: "x", PW_SERVER: "http://127.0.0.1:1" } });
    expect(gone).toMatchObject({ status: 5, output: "" });
    const bad = await run(["circuit", "list"], { env: { PW_TOKEN: "x", PW_SERVER: server.url } });
    expect(bad).toMatchObject({ status: 4, output: "" });
    const good = await run(["circuit", "list", "--json"], { env: { PW_TOKEN: user.token, PW_SERVER: server.url } });
    expect(good).toMatchObject({ status: 0, errors: "" });
  });
});

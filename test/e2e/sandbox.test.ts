/** A server on a system without the tools of the sandbox: what it says, and what it refuses. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { startServer, type TestServer } from "../support/server.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

const MISSING = ["network", "privileges", "resources", "priority"];
const SOURCE =
  "pragma circom 2.1.0; template T() { signal input a; signal output c; c <== a * a; } component main = T();";
const PASSWORD = "correct horse battery staple";

let emptyFolder: string;
let server: TestServer;
beforeAll(async () => {
  emptyFolder = newFolder("no-tools");
  server = await startServer({ env: { PATH: emptyFolder, PROOFWRIGHT_SANDBOX: "require" } });
});
afterAll(async () => {
  await server.dispose();
  removeFolder(emptyFolder);
});

async function statusFor(token?: string): Promise<unknown> {
  const headers = token === undefined ? {} : { authorization: `bearer ${token}` };
  return await (await fetch(`${server.url}/status`, { headers })).json();
}

async function newAdministrator(): Promise<string> {
  const email = "root@example.com";
  const bootstrapToken = readFileSync(join(server.dataDir, "bootstrap-token"), "utf8").trim();
  await server
    .as(bootstrapToken)
    .createUser({ body: { email, password: PASSWORD, first_name: "Ada", last_name: "Lovelace" } });
  return (await server.anonymous.authenticate({ body: { email, password: PASSWORD } })).body.token.access_token;
}

describe("a server that requires a sandbox which the system does not offer", () => {
  it("says so at the start, with every missing limit", async () => {
    const output = await eventually(() => {
      const text = server.output();
      expect(text).toContain("PROOFWRIGHT_SANDBOX=require: compiling is refused");
      return text;
    });
    expect(output.match(/the sandbox of the compilers is incomplete/g)).toHaveLength(1);
    for (const limit of MISSING) expect(output).toContain(`${limit}: `);
  });

  it("shows the state of the sandbox to administrators only", async () => {
    const open = { status: "ok", name: "Proofwright", version: expect.any(String) as string };
    const administrator = await newAdministrator();
    const { token } = await server.newUser();
    for (const other of [undefined, token, "no-token"]) expect(await statusFor(other)).toEqual(open);
    const status = (await statusFor(administrator)) as { sandbox: { mode: string; missing: { limit: string }[] } };
    expect(status).toMatchObject({ ...open, sandbox: { mode: "require" } });
    expect(status.sandbox.missing.map(({ limit }) => limit)).toEqual(MISSING);
  });

  it("compiles no circuit, and names the reason in the prover's errors", async () => {
    const { api } = await server.newUser();
    const created = await api.createProver({
      // The circuits of the server come compiled, so it has to be one of the user's own.
      body: { source: SOURCE, proving_scheme: "groth16", curve: "BN254", provider: "circom", name: "own" },
    });
    await eventually(async () => {
      const { body } = await api.getProver({ params: { id: created.body.id } });
      expect(body).toMatchObject({
        status: "failed",
        errors: [{ code: "sandbox_incomplete", message: expect.stringContaining(MISSING.join(", ")) as string }],
      });
    });
  });
});

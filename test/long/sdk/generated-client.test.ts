/**
 * A stranger's client, generated from the OpenAPI document alone: its types read well, a program on it compiles in
 * strict form, and proves and verifies.
 */
import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import openapiTS, { astToString } from "openapi-typescript";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openApiText } from "../../../src/commands/openapi.js";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { startServer, type TestServer } from "../../support/server.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { typeFaults } from "../../support/type-faults.js";

const PROGRAM = `
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Prover = components["schemas"]["Prover"];
const [baseUrl = ""] = process.argv.slice(2);
const anonymous = createClient<paths>({ baseUrl });
const email = \`ada.\${crypto.randomUUID()}@example.com\`;
const password = crypto.randomUUID();
await anonymous.POST("/api/v1/users", { body: { email, password, first_name: "Ada", last_name: "Lovelace" } });
const login = await anonymous.POST("/api/v1/authenticate", { body: { email, password } });
if (login.error !== undefined) throw new Error(login.error.message);
const api = createClient<paths>({ baseUrl, headers: { Authorization: \`bearer \${login.data.token.access_token}\` } });

const created = await api.POST("/api/v1/provers", {
  params: { header: { Prefer: "wait=60" } },
  body: { identifier: "cubic", proving_scheme: "groth16", curve: "BN254" },
});
if (created.error !== undefined) throw new Error(created.error.errors[0]?.code);
const prover: Prover = created.data;
const isReady: boolean = prover.status === "provisioned" && prover.trusted_setup !== "transparent";
const path = { id: prover.id };
const made = await api.POST("/api/v1/provers/{id}/prove", { params: { path }, body: { witness: { X: "3", Y: "35" } } });
// With \`Prefer: respond-async\` it would be a job.
const proof = made.data !== undefined && "proof" in made.data ? made.data.proof : "";
const verify = async (Y: string): Promise<boolean | undefined> =>
  (await api.POST("/api/v1/provers/{id}/verify", { params: { path }, body: { proof, witness: { Y } } })).data?.result;
const missing = await api.GET("/api/v1/provers/{id}", { params: { path: { id: crypto.randomUUID() } } });
console.log(JSON.stringify([isReady, await verify("35"), await verify("36"), missing.error?.errors[0]?.code]));
`;

const run = promisify(execFile);
const folder = newFolder("generated");
let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  symlinkSync(join(PACKAGE_ROOT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
});
afterAll(async () => {
  await server.dispose();
  removeFolder(folder);
});

it("proves and verifies through generated types", async () => {
  // Its own default takes a member of a body that has a default for one that must be sent.
  const types = astToString(await openapiTS(openApiText(), { defaultNonNullable: false }));
  expect(types).toMatch(/status: "init" \| "compiling" \| /);
  for (const name of ["CreateProver", "Prover", "Transaction", "Key"])
    expect(types).toContain(`"application/json": components["schemas"]["${name}"]`);
  writeFileSync(join(folder, "schema.ts"), types);
  writeFileSync(join(folder, "program.ts"), PROGRAM);
  const options = { noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: false, skipLibCheck: true };
  expect(typeFaults(folder, ["program.ts"], { ...options, types: ["node"] })).toEqual([]);
  const { stdout } = await run(process.execPath, [join(folder, "program.js"), server.url]);
  expect(JSON.parse(stdout)).toEqual([true, true, false, "not_found"]);
});

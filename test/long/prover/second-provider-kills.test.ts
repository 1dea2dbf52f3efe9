/** A server that is killed in each step of provisioning a prover of a second provider, which it has to finish. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startServer, type TestServer } from "../../support/server.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { writeTwoProvidersServer, type TwoProvidersServer } from "../../support/two-providers.js";

const STEPS = ["compile", "setup", "gates"] as const;

let folder: string;
let two: TwoProvidersServer;
let server: TestServer;

beforeAll(async () => {
  folder = newFolder("second-provider");
  two = await writeTwoProvidersServer();
  server = await start(STEPS[0]);
});
afterAll(async () => {
  await server.dispose();
  two.remove();
  removeFolder(folder);
});

async function start(stopAt?: string): Promise<TestServer> {
  const env = stopAt === undefined ? {} : { env: { SIGMA_STOP_AT: stopAt } };
  return await startServer({ dataDir: `${folder}/data`, program: two.program, ...env });
}

describe("kills of a server in the provisioning of a second provider's prover", () => {
  it("cost the step in which they come, and nothing else", async () => {
    const { api, token } = await server.newUser();
    const body = {
      provider: "sigma",
      proving_scheme: "schnorr",
      curve: "secp256k1",
      source: "secret x\npoint Y = x*G",
    };
    const params = { id: (await api.createProver({ body })).body.id };
    const seen: string[] = [];
    for (const [i, step] of STEPS.entries()) {
      await expect.poll(() => server.output()).toContain(`stopped at ${step}`);
      seen.push((await server.as(token).getProverStatus({ params })).body.status);
      await server.end("SIGKILL");
      server = await start(STEPS[i + 1]);
    }
    const again = server.as(token);
    await expect.poll(async () => (await again.getProverStatus({ params })).body.status).toBe("provisioned");
    expect(seen).toEqual(["compiling", "compiled", "compiled"]);
    const { proof, public_signals } = (await again.prove({ params, body: { witness: { x: "7" } } })).body;
    expect((await again.verify({ params, body: { proof, public_signals } })).body.result).toBe(true);
  });
});

/** A server that is killed while it provisions, and started again on the same data folder. */
import { rmSync } from "node:fs";
import { expect, it } from "vitest";
import { startServer } from "../../support/server.js";
import { newFolder } from "../../support/temporary-folder.js";

/** The statuses that last long enough to be seen for certain: the compiler and the setup are processes. */
const KILLED_IN = ["compiling", "running_setup"];

it("finishes provisioning that was killed while it compiled and while its keys were made", async () => {
  const dataDir = newFolder("restart");
  let server = await startServer({ dataDir });
  try {
    const { api, token } = await server.newUser();
    const { body: created } = await api.createProver({
      body: {
        identifier: "poseidon_preimage",
        proving_scheme: "groth16",
        curve: "BN254",
        provider: "circom",
        name: "killed",
      },
    });
    for (const status of KILLED_IN) {
      await expect
        .poll(
          async () => {
            const { body } = await server.as(token).getProverStatus({ params: { id: created.id } });
            return body.status;
          },
          { interval: 5 },
        )
        .toBe(status);
      await server.end("SIGKILL");
      server = await startServer({ dataDir });
    }
    await expect
      .poll(async () => (await server.as(token).getProverStatus({ params: { id: created.id } })).body.finished, {
        interval: 100,
      })
      .toBe(true);
    const { body } = await server.as(token).getProver({ params: { id: created.id } });
    expect(body).toMatchObject({ status: "provisioned", errors: [] });
  } finally {
    await server.dispose();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

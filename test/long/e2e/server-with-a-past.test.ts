/** A server as a process: what it keeps over a restart, and how it drains. */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { provisioned, startServer, type TestServer } from "../../support/server.js";
import { newFolder } from "../../support/temporary-folder.js";

const CUBIC = {
  identifier: "cubic",
  proving_scheme: "groth16",
  curve: "BN254",
  provider: "circom",
  name: "cubic",
} as const;
const open: TestServer[] = [];
const folders: string[] = [];

function folder(): string {
  const path = newFolder("process");
  folders.push(path);
  return path;
}

async function start(...options: Parameters<typeof startServer>): Promise<TestServer> {
  const server = await startServer(...options);
  open.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(
    open.splice(0).map(async (server) => {
      await server.dispose();
    }),
  );
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
});

describe("a server with a past", () => {
  /**
   * What a server left that was killed: a user, and a prover with one proof. Each test goes on with a copy of its own.
   */
  let left: string;
  let past: {
    readonly token: string;
    readonly email: string;
    readonly password: string;
    readonly id: string;
    readonly proof: string;
  };
  beforeAll(async () => {
    left = newFolder("process");
    const server = await startServer({ dataDir: left });
    try {
      const { api, token, email, password } = await server.newUser();
      const id = await provisioned(api, CUBIC);
      const {
        body: { proof },
      } = await api.prove({ params: { id }, body: { witness: { X: "3", Y: "35" } } });
      past = { token, email, password, id, proof };
    } finally {
      await server.dispose();
    }
  });
  afterAll(() => {
    rmSync(left, { recursive: true, force: true });
  });

  async function goOn(): Promise<TestServer> {
    const dataDir = join(folder(), "data");
    cpSync(left, dataDir, { recursive: true });
    return await start({ dataDir });
  }

  it("keeps users, provers, keys and proofs", async () => {
    const { token, id, proof } = past;
    const api = (await goOn()).as(token);
    expect((await api.getProver({ params: { id } })).body.status).toBe("provisioned");
    expect((await api.verify({ params: { id }, body: { witness: { Y: "35" }, proof } })).body.result).toBe(true);
    expect((await api.listProofs({ params: { id } })).total).toBe(1);
  });

  it("drains on SIGTERM: proofs under way are answered, and the exit status is 0", async () => {
    const { token, id } = past;
    const server = await goOn();
    const api = server.as(token);
    let isStopping = false;
    // Far more than the threads can prove until the signal arrives.
    const proving = Array.from({ length: 48 }, async () => {
      const { body } = await api.prove({ params: { id }, body: { witness: { X: "3", Y: "35" } } });
      return { proof: body.proof, afterSignal: isStopping };
    });
    await Promise.race(proving);
    isStopping = true;
    const ended = server.end("SIGTERM");
    const settled = await Promise.allSettled(proving);
    const answered = settled.filter((result) => result.status === "fulfilled").map(({ value }) => value);
    expect(answered.filter(({ afterSignal }) => afterSignal).length).toBeGreaterThan(0);
    expect(answered.every(({ proof }) => /^[0-9a-f]{256}$/.test(proof))).toBe(true);
    for (const result of settled)
      if (result.status === "rejected") expect(result.reason).toMatchObject({ status: 503 });
    expect(await ended).toBe(0);
  });
});

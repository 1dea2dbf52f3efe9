/** Reads of secrets for other areas of the server: overlapping ones are one, in the turn of the first asker. */
import { afterEach, describe, expect, it } from "vitest";
import { AppError } from "../../src/platform/errors.js";
import type { VaultTaskRunner } from "../../src/vault/protocol.js";
import { openTestVault, subject, type TestVault } from "./support.js";

const opened: TestVault[] = [];
afterEach(async () => {
  for (const test of opened.splice(0)) await test.close();
});

/** A vault that notes in whose turn secrets are read, and refuses to read for one asker. */
async function boot(refused?: string): Promise<{ test: TestVault; askers: (string | undefined)[] }> {
  const askers: (string | undefined)[] = [];
  const wrapWorker = (worker: VaultTaskRunner): VaultTaskRunner => ({
    run: async (task, message) => {
      if (task === "open_secret") {
        const { asker } = message as { readonly asker?: string };
        askers.push(asker);
        await new Promise((resolve) => setImmediate(resolve));
        if (refused !== undefined && asker === refused)
          throw new AppError("overloaded", { message: "full", retryAfterSec: 1 });
      }
      return await worker.run(task, message);
    },
    recycle: async () => {
      await worker.recycle();
    },
    stop: async () => {
      await worker.stop();
    },
  });
  const test = await openTestVault({ isOnThisThread: true, wrapWorker });
  opened.push(test);
  return { test, askers };
}

async function makeSecret({ vault }: TestVault): Promise<{ owner: ReturnType<typeof subject>; ids: [string, string] }> {
  const owner = subject();
  const { id } = await vault.createVault(owner, { name: "prover" });
  const secret = await vault.createSecret(owner, id, { name: "pin", type: "text", value: "sha256:00" });
  return { owner, ids: [id, secret.id] };
}

describe("overlapping reads of a secret", () => {
  it("are one, in the turn of the first who asked, and later ones are anew", async () => {
    const { test, askers } = await boot();
    const { owner, ids } = await makeSecret(test);
    const read = async (asker: string): Promise<string> => await test.vault.retrieveSecret(owner, ...ids, asker);
    expect(await Promise.all([read("user:a"), read("user:b"), read("user:c")])).toEqual(Array(3).fill("sha256:00"));
    expect(askers).toEqual(["user:a"]);
    expect(await read("user:b")).toBe("sha256:00");
    expect(askers).toEqual(["user:a", "user:b"]);
  });

  it("go on in another's turn when the first one's queue was full for it alone", async () => {
    const { test, askers } = await boot("user:a");
    const { owner, ids } = await makeSecret(test);
    const read = async (asker: string): Promise<string> => await test.vault.retrieveSecret(owner, ...ids, asker);
    const [first, same, other] = await Promise.allSettled([read("user:a"), read("user:a"), read("user:b")]);
    expect([first, same]).toMatchObject([
      { status: "rejected", reason: { code: "overloaded" } },
      { status: "rejected", reason: { code: "overloaded" } },
    ]);
    expect(other).toMatchObject({ status: "fulfilled", value: "sha256:00" });
    expect(askers).toEqual(["user:a", "user:b"]);
  });

  it("are refused to one who comes after the secret was deleted, or to another owner", async () => {
    const { test } = await boot();
    const { owner, ids } = await makeSecret(test);
    const before = test.vault.retrieveSecret(owner, ...ids, "user:a");
    await expect(test.vault.retrieveSecret(subject(), ...ids, "user:a")).rejects.toMatchObject({ code: "not_found" });
    await test.vault.deleteSecret(owner, ...ids);
    await expect(test.vault.retrieveSecret(owner, ...ids, "user:b")).rejects.toMatchObject({ code: "not_found" });
    expect(await before).toBe("sha256:00");
  });
});

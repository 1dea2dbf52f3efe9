// RSA keys are made one at a time for the whole server: whose is next, and how many may wait.
import { describe, expect, it } from "vitest";
import type { VaultTaskRunner } from "../../../src/vault/protocol.js";
import { openTestVault, subject } from "../support.js";

/** Notes whose RSA keys are made, and makes quick ones instead. */
function quickly(made: string[]): (worker: VaultTaskRunner) => VaultTaskRunner {
  return (worker) => ({
    run: async (task, message) => {
      if (task !== "create_key" || message === null || !("spec" in message)) return await worker.run(task, message);
      if (message.spec.startsWith("RSA") && "vault" in message) made.push(message.vault.owner);
      return await worker.run(task, { ...message, spec: "Ed25519" });
    },
    recycle: async () => {
      await worker.recycle();
    },
    stop: async () => {
      await worker.stop();
    },
  });
}

describe("new RSA keys", () => {
  it("are made in turns of the owners, and one owner that fills the queue keeps no other out", async () => {
    const made: string[] = [];
    const test = await openTestVault({ wrapWorker: quickly(made) });
    try {
      const [busy, other] = [subject(), subject()];
      const vaultOf = async (owner: typeof busy): Promise<string> =>
        (await test.vault.createVault(owner, { name: "v" })).id;
      const [busyVault, otherVault] = [await vaultOf(busy), await vaultOf(other)];
      const many = Promise.allSettled(
        Array.from({ length: 60 }, async (_, n) => {
          await test.vault.createKey(busy, busyVault, { spec: "RSA-2048", name: `k${String(n)}` });
        }),
      );
      await test.vault.createKey(other, otherVault, { spec: "RSA-2048", name: "k" });
      const outcomes = await many;
      expect(made.indexOf(`user:${other.id}`)).toBeLessThanOrEqual(2);
      const refused = outcomes.filter((outcome) => outcome.status === "rejected");
      // One is made and 32 wait, of which the newest leaves for the other owner's.
      expect(refused).toHaveLength(60 - 32);
      for (const { reason } of refused) expect(reason).toMatchObject({ code: "overloaded", status: 503 });
    } finally {
      await test.close();
    }
  });
});

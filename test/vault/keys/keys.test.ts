// Creating keys over HTTP: what a spec allows, and what is refused.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVaultServer, type Answer, type VaultServer } from "../http-support.js";
import { openTestVault, subject } from "../support.js";

let server: VaultServer;
beforeAll(async () => {
  server = await startVaultServer();
});
afterAll(async () => {
  await server.close();
});

const code = (answer: Answer): string | undefined => answer.body.errors?.[0]?.code;

describe("creating keys", () => {
  it("refuses types and usages that the spec has not, options of other specs, and key material; nothing is stored", async () => {
    const vault = await server.newVault();
    const create = async (body: object): Promise<string | undefined> =>
      code(await server.call("POST", `/api/v1/vaults/${vault}/keys`, { name: "k", ...body }));
    expect(await create({ spec: "secp256k1", type: "symmetric" })).toBe("key_type_mismatch");
    expect(await create({ spec: "Ed25519", usage: "encrypt/decrypt" })).toBe("key_type_mismatch");
    expect(await create({ spec: "RSA-1024" })).toBe("key_spec_unknown");
    expect(await create({ spec: "Ed25519", options: { prefix: "U" } })).toBe("option_unsupported");
    expect(await create({ spec: "Ed25519-nkey", options: { prefix: "S" } })).toBe("invalid_request");
    for (const member of ["private_key", "public_key", "mnemonic", "seed", "ephemeral"])
      expect(await create({ spec: "BIP39", [member]: "00" })).toBe("unknown_member");
    expect((await server.call("GET", `/api/v1/vaults/${vault}/keys`)).headers.get("x-total-results-count")).toBe("1");
  });

  it("writes nkeys with the prefix that is asked for", async () => {
    for (const [options, letter] of [
      [undefined, "U"],
      [{ prefix: "A" }, "A"],
      [{ prefix: "N" }, "N"],
    ] as const) {
      const { key } = await server.newKey("Ed25519-nkey", undefined, options === undefined ? {} : { options });
      const nkey = Buffer.from(key["public_key"]!.slice(2), "hex").toString("latin1");
      expect(nkey).toMatch(new RegExp(`^${letter}[A-Z2-7]{55}$`));
      const { path: at } = await server.newKey("Ed25519-nkey");
      const { signature } = (await server.call("POST", `${at}/sign`, { message: "01" })).body;
      expect(
        (
          await server.call("POST", "/api/v1/verify", {
            spec: "Ed25519-nkey",
            public_key: nkey,
            message: "01",
            signature,
          })
        ).body,
      ).toEqual({ verified: false });
    }
  });
});

describe("generating RSA keys", () => {
  it("happens one at a time for the whole server, and other keys do not wait for them", async () => {
    let running = 0;
    let runningMax = 0;
    const order: string[] = [];
    const test = await openTestVault({
      wrapWorker: (worker) => ({
        recycle: async () => await worker.recycle(),
        stop: async () => await worker.stop(),
        run: async (task, message) => {
          const isSlow = task === "create_key" && (message as { spec: string }).spec.startsWith("RSA-");
          if (!isSlow) return await worker.run(task, message);
          running += 1;
          runningMax = Math.max(runningMax, running);
          try {
            return await worker.run(task, message);
          } finally {
            running -= 1;
          }
        },
      }),
    });
    try {
      const owners = [subject(), subject()];
      const vaults = await Promise.all(owners.map(async (owner) => await test.vault.createVault(owner, { name: "v" })));
      const create = async (index: number, spec: string): Promise<void> => {
        await test.vault.createKey(owners[index]!, vaults[index]!.id, { spec, name: "k" });
        order.push(spec);
      };
      await Promise.all([
        ...Array.from({ length: 4 }, async (_, index) => await create(index % 2, "RSA-2048")),
        create(0, "Ed25519"),
      ]);
      expect(runningMax).toBe(1);
      expect(order.slice(0, 2)).toContain("Ed25519");
      expect(order).toHaveLength(5);
    } finally {
      await test.close();
    }
  });
});

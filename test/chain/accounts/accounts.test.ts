// Accounts and wallets: keys that stay in the vault, addresses that other libraries derive alike, balances, lists.
import { HDKey } from "@scure/bip32";
import { publicKeyToAddress } from "viem/accounts";
import { recoverMessageAddress } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { randomUUID } from "node:crypto";
import { TokenBalances } from "../../../src/chain/accounts/token-balances.js";
import { RpcRefusal } from "../../../src/chain/rpc/rpc.js";
import { systemClock, type Clock } from "../../../src/platform/clock.js";
import { notFound } from "../../../src/platform/errors.js";
import { failsWith, openBench, RECEIVER, type Bench } from "../transactions/support.js";

const PAGE = { page: 1, rpp: 25 };
let bench: Bench;
/** No two records have the same millisecond, so that lists by time have one order. */
let lastMs = 0;
const clock: Clock = {
  monotonicMs: () => systemClock.monotonicMs(),
  nowMs: () => (lastMs = Math.max(lastMs + 1, systemClock.nowMs())),
};
beforeAll(async () => {
  bench = await openBench({ dependencies: { clock } });
});
afterAll(async () => {
  await bench.close();
});

describe("accounts", () => {
  it("have a key in the caller's vault that signs for their address, and never show it", async () => {
    const account = await bench.transactions.accounts.create(bench.owner, { network_id: bench.networkId });
    expect(publicKeyToAddress(account.public_key as `0x${string}`)).toBe(account.address);
    expect(JSON.stringify(account)).not.toMatch(/private|mnemonic|envelope/);
    const key = bench.vault.vault.getKey(bench.owner, account.vault_id, account.key_id);
    expect([key.spec, key.address]).toEqual(["secp256k1", account.address]);
    const signed = await bench.vault.vault.operations.sign(
      { owner: bench.owner, vaultId: account.vault_id, keyId: account.key_id },
      { message: Buffer.from("hello").toString("hex"), options: { format: "personal_sign" } },
    );
    expect(
      await recoverMessageAddress({ message: "hello", signature: `0x${(signed as { signature: string }).signature}` }),
    ).toBe(account.address);
  });

  it("share one vault of their owner, also when many are made at once", async () => {
    const owner = { kind: "user", id: bench.owner.id } as const;
    const made = await Promise.all(
      Array.from(
        { length: 6 },
        async () => await bench.transactions.accounts.create(owner, { network_id: bench.networkId }),
      ),
    );
    expect(new Set(made.map(({ vault_id: id }) => id)).size).toBe(1);
    expect(new Set(made.map(({ address }) => address)).size).toBe(6);
  });

  it("get a new vault when theirs was deleted; the old ones can no longer sign", async () => {
    const old = await bench.account();
    const [{ vault_id: vaultId } = { vault_id: "" }] = bench.transactions.accounts.list(
      bench.owner,
      {},
      { page: 1, rpp: 1 },
    ).body;
    await bench.vault.vault.deleteVault(bench.owner, vaultId);
    const fresh = await bench.transactions.accounts.create(bench.owner, { network_id: bench.networkId });
    expect(fresh.vault_id).not.toBe(vaultId);
    const { id } = await bench.transactions.service.submit(bench.owner, {
      networkId: bench.networkId,
      signer: { accountId: old.id },
      to: RECEIVER,
      value: 1n,
    });
    expect(await bench.until(id, ({ status }) => status !== "pending")).toMatchObject({
      state: "failed",
      error: { code: "signer_not_found" },
    });
  });

  it("show their balance, and null while the node does not answer", async () => {
    const account = await bench.account();
    expect((await bench.transactions.accounts.get(bench.owner, account.id)).balance).toBe("10000000000000000000");
    bench.rpc.spoil = () => "lost";
    expect((await bench.transactions.accounts.get(bench.owner, account.id)).balance).toBeNull();
    bench.rpc.spoil = () => undefined;
  });

  it("show the balance of a token by its address, and what is no token", async () => {
    const account = await bench.account();
    const balances = new TokenBalances({
      accounts: bench.transactions.accounts,
      networks: bench.networks,
      tokens: {
        addressOf: () => {
          throw notFound("token");
        },
      },
    });
    expect((await failsWith(balances.get(bench.owner, account.id, RECEIVER))).code).toBe("not_found");
    expect((await failsWith(balances.get(bench.owner, account.id, randomUUID()))).code).toBe("not_found");
    bench.rpc.spoil = (method) =>
      method === "eth_call" ? { answer: `0x${25n.toString(16).padStart(64, "0")}` } : undefined;
    expect(await balances.get(bench.owner, account.id, RECEIVER)).toEqual({
      [RECEIVER]: "25",
    });
    bench.rpc.spoil = (method) =>
      method === "eth_call" ? { refusal: new RpcRefusal("execution reverted", 3, "0x") } : undefined;
    expect((await failsWith(balances.get(bench.owner, account.id, RECEIVER))).code).toBe("execution_reverted");
    bench.rpc.spoil = () => undefined;
  });

  it("are listed newest first, or last used first, and by their network", async () => {
    const one = await bench.account();
    const other = await bench.account();
    const { id } = await bench.transactions.service.submit(bench.owner, {
      networkId: bench.networkId,
      signer: { accountAddress: one.address.toLowerCase() },
      to: RECEIVER,
      value: 1n,
    });
    await bench.until(id, ({ state }) => state === "confirmed");
    const { accounts } = bench.transactions;
    expect(accounts.list(bench.owner, {}, PAGE).body[0]?.id).toBe(other.id);
    expect(accounts.list(bench.owner, { sort: "recent" }, PAGE).body[0]).toMatchObject({
      id: one.id,
      accessed_at: expect.stringMatching(/^20/) as unknown,
    });
    expect(accounts.list(bench.owner, { network_id: randomUUID() }, PAGE)).toEqual({ body: [], total: 0 });
    expect(accounts.list({ kind: "user", id: randomUUID() }, {}, PAGE)).toEqual({ body: [], total: 0 });
    expect((await failsWith(accounts.create(bench.owner, { network_id: randomUUID() }))).code).toBe("not_found");
    expect(
      (
        await failsWith(
          bench.transactions.service.submit(
            { kind: "user", id: randomUUID() },
            { networkId: bench.networkId, signer: { accountId: one.id } },
          ),
        )
      ).code,
    ).toBe("not_found");
  });
});

describe("wallets", () => {
  it("page through their addresses without a gap or a repeat, as BIP-44 has them", async () => {
    const wallet = await bench.transactions.wallets.create(bench.owner, {});
    expect(wallet).toMatchObject({ purpose: 44, path: "m/44'/60'/0'" });
    const page = async (number: number) =>
      await bench.transactions.wallets.addresses(
        bench.owner,
        wallet.id,
        { index: 2, chain_path: 1 },
        { page: number, rpp: 4 },
      );
    const [first, second] = [await page(1), await page(2)];
    expect(first.total).toBe(2 ** 31);
    const all = [...first.body, ...second.body];
    expect(all.map(({ hd_derivation_path: path }) => path)).toEqual(
      Array.from({ length: 8 }, (_, at) => `m/44'/60'/2'/1/${String(at)}`),
    );
    const { xpub } = await bench.vault.vault.wallets.xpub(
      { owner: bench.owner, vaultId: wallet.vault_id, keyId: wallet.key_id },
      { account: 2 },
    );
    const branch = HDKey.fromExtendedKey(xpub).deriveChild(1);
    for (const [at, { address, public_key: key }] of all.entries()) {
      expect(publicKeyToAddress(key as `0x${string}`)).toBe(address);
      const point = Buffer.from(branch.deriveChild(at).publicKey!).toString("hex");
      expect(key.slice(4, 68)).toBe(point.slice(2));
    }
    expect(bench.transactions.wallets.list(bench.owner, PAGE).body.map(({ id }) => id)).toEqual([wallet.id]);
  });

  it("sign transactions with the key at a path", async () => {
    const wallet = await bench.transactions.wallets.create(bench.owner, {});
    const {
      body: [, second],
    } = await bench.transactions.wallets.addresses(bench.owner, wallet.id, {}, PAGE);
    await bench.anvil.request("anvil_setBalance", second!.address, "0x8ac7230489e80000");
    const signer = { walletId: wallet.id, path: second!.hd_derivation_path };
    const { id } = await bench.transactions.service.submit(bench.owner, {
      networkId: bench.networkId,
      signer,
      to: RECEIVER,
      value: 3n,
    });
    const ended = await bench.until(id, ({ state }) => state === "confirmed");
    expect(ended).toMatchObject({
      from: second!.address,
      wallet_id: wallet.id,
      hd_derivation_path: "m/44'/60'/0'/0/1",
    });
    expect(await bench.anvil.request("eth_getTransactionByHash", ended.hash)).toMatchObject({
      from: second!.address.toLowerCase(),
      value: "0x3",
    });
  });

  it("refuse paths that are not theirs", async () => {
    const wallet = await bench.transactions.wallets.create(bench.owner, {});
    for (const path of ["m/44'/61'/0'/0/0", "m/49'/60'/0'/0/0", "m/44'/60'/0'/0/0'", "m/44'/60'", "x"]) {
      expect(
        (
          await failsWith(
            bench.transactions.service.submit(bench.owner, {
              networkId: bench.networkId,
              signer: { walletId: wallet.id, path },
              to: RECEIVER,
            }),
          )
        ).code,
      ).toBe("derivation_path_invalid");
    }
  });
});

it("deletes everything of an owner", async () => {
  await bench.transactions.purge(bench.owner);
  expect([
    bench.transactions.accounts.list(bench.owner, {}, PAGE).total,
    bench.transactions.wallets.list(bench.owner, PAGE).total,
    bench.transactions.service.list(bench.owner, {}, PAGE).total,
  ]).toEqual([0, 0, 0]);
});

/** What a request keeps in the commit of the transaction that it makes. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TransactionJson } from "../../../src/chain/transactions/transaction-schemas.js";
import { StoreConflict } from "../../../src/platform/store/store.js";
import { openBench, RECEIVER, type Bench } from "./support.js";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(async () => {
  await bench.close();
});

it("is stored with the transaction, or neither is", async () => {
  const { id: accountId } = await bench.account();
  const { service } = bench.transactions;
  const request = { networkId: bench.networkId, signer: { accountId }, to: RECEIVER, value: 1n };
  const kept: TransactionJson[] = [];
  const made = await service.create(bench.owner, request, (first) => {
    kept.push(first);
    return { puts: [{ key: ["kept", first.id], value: "answer" }] };
  });
  expect(bench.vault.store.get(["kept", made.id])?.value).toBe("answer");
  expect(kept.map(({ id, ref, account_id }) => ({ id, ref, account_id }))).toEqual([
    { id: made.id, ref: made.id, account_id: accountId },
  ]);

  const refused = service.create(bench.owner, request, ({ id }) => ({
    checks: [{ key: ["kept", id], version: 1 }],
    puts: [{ key: ["kept", id], value: "answer" }],
  }));
  await expect(refused).rejects.toBeInstanceOf(StoreConflict);
  expect(service.list(bench.owner, {}, { page: 1, rpp: 10 }).body.map(({ id }) => id)).toEqual([made.id]);
});

import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { ContractAccesses } from "../../../src/chain/contracts/access-times.js";
import { ContractRepository } from "../../../src/chain/contracts/contract-repository.js";
import type { StoredContract } from "../../../src/chain/contracts/contract-records.js";
import { MemoryStore } from "../../support/memory-store.js";
import { recordedLog } from "../../support/silent-log.js";

const NOW_MS = Date.UTC(2026, 10, 22);
const owner = { kind: "user", id: randomUUID() } as const;

function contract(name: string): StoredContract {
  return {
    id: randomUUID(),
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    owner,
    network_id: randomUUID(),
    contract_id: null,
    transaction_id: null,
    name,
    address: "0x",
    type: null,
    status: "registered",
    errors: [],
    token: null,
    accessed_at: null,
  };
}

it("keeps the order of uses within one millisecond, across writes and whatever was used before", async () => {
  const store = new MemoryStore();
  const repository = new ContractRepository({ store });
  const clock = { nowMs: () => NOW_MS, monotonicMs: () => 0 };
  const accesses = new ContractAccesses({ store, repository, clock, log: recordedLog() });
  const contracts = Array.from({ length: 6 }, (_none, index) => contract(String(index)));
  for (const each of contracts) await store.commit(repository.insertion(each));
  const recent = async (): Promise<string> => {
    await accesses.flush();
    const { rows } = repository.list(owner, { order: "recent", tokens: "all" }, { page: 1, rpp: 25 });
    return rows.map(({ name }) => name).join("");
  };
  const use = (names: string): void => {
    for (const name of names) accesses.note(contracts[Number(name)]!);
  };
  use("305214");
  expect(await recent()).toBe("412503");
  use("3");
  expect(await recent()).toBe("341250");
  use("0505");
  expect(await recent()).toBe("503412");
  await accesses.stop();
});

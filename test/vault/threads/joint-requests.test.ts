// Joint requests: which requests may join, and that each gets its own answer.
import { describe, expect, it } from "vitest";
import { splitResult, joinRequests, separateAfterFault } from "../../../src/vault/threads/joint-requests.js";
import { keySpecNamed } from "../../../src/vault/key-specs/table.js";
import type { KeyReference, OperateMessage, VaultReference, VaultRequest } from "../../../src/vault/protocol.js";

const vault: VaultReference = { vaultId: "v", owner: "user:u", masterKeyId: "m", masterEnvelope: "e", generation: 1 };
const keyOf = (spec: string): KeyReference => ({
  keyId: "k",
  spec,
  type: "asymmetric",
  usage: "sign/verify",
  generation: 1,
  envelope: "e",
});
const key = keyOf("secp256k1");
const operate = (name: string, change: Partial<OperateMessage> = {}): { name: string; request: VaultRequest } => ({
  name,
  request: {
    task: "operate",
    message: { vault, key, earlier: [], operation: "sign", items: [{ message: name }], worker: "prompt", ...change },
  },
});
const messagesOf = (request: VaultRequest): unknown =>
  request.task === "operate" && request.message.items.map(({ message }) => message);
const names = (all: readonly { name: string; request: VaultRequest }[]): string[] =>
  joinRequests(all).map(({ waiting }) => waiting.map(({ name }) => name).join(""));

describe("joint requests", () => {
  it("take neighbours with the same key and operation, in order, up to a few milliseconds of work", () => {
    const all = Array.from("abcdefg", (name) => operate(name));
    expect(names(all)).toEqual(["abcde", "fg"]);
    expect(joinRequests(all).map(({ request }) => messagesOf(request))).toEqual([
      ["a", "b", "c", "d", "e"],
      ["f", "g"],
    ]);
    expect(joinRequests([])).toEqual([]);
  });

  it("take no more than a millisecond of work where the items share none of it", () => {
    for (const [spec, operation] of [
      ["AES-256-GCM", "encrypt"],
      ["ChaCha20", "decrypt"],
      ["C25519", "agree"],
      ["secp256k1", "agree"],
    ] as const) {
      const countMax = Math.floor(1_000 / keySpecNamed(spec).operationUs);
      const change = { key: keyOf(spec), operation };
      const all = Array.from({ length: 2 * countMax + 1 }, (_, index) => operate(String(index), change));
      expect(joinRequests(all).map(({ waiting }) => waiting.length)).toEqual([countMax, countMax, 1]);
    }
  });

  it.each<[string, Partial<OperateMessage>]>([
    ["another vault", { vault: { ...vault } }],
    ["another reading of the key's record", { key: { ...key } }],
    ["another operation", { operation: "verify" }],
    ["several items", { items: [{}, {}] }],
    ["earlier generations of its key", { earlier: [{ ...key, generation: 1 }] }],
  ])("leave out what has %s", (_name, change) => {
    expect(names([operate("a"), operate("b", change), operate("c"), operate("d")])).toEqual(["a", "b", "cd"]);
  });

  it("leave alone what is slow by itself, and what is no operation of a key", () => {
    for (const change of [{ key: keyOf("BIP39") }, { key: keyOf("RSA-4096") }, { key: keyOf("no such spec") }])
      expect(names([operate("a", change), operate("b", change)])).toEqual(["a", "b"]);
    const locks = ["a", "b"].map((name) => ({ name, request: { task: "lock", message: null } as const }));
    expect(names(locks)).toEqual(["a", "b"]);
  });

  it("come apart after a fault that nobody expected, and after no other", () => {
    const [joint, alone] = [joinRequests([operate("a"), operate("b")])[0]!, joinRequests([operate("c")])[0]!];
    const failure = (code: "internal_error" | "data_corrupt" | "vault_sealed" | "key_disabled") =>
      ({ ok: false, code, message: "m" }) as const;
    expect(
      separateAfterFault(joint, failure("internal_error"))?.map(({ request, waiting }) => [
        messagesOf(request),
        waiting.map(({ name }) => name),
      ]),
    ).toEqual([
      [["a"], ["a"]],
      [["b"], ["b"]],
    ]);
    for (const result of [
      failure("data_corrupt"),
      failure("vault_sealed"),
      failure("key_disabled"),
      { ok: true, value: [] } as const,
      undefined,
    ])
      expect(separateAfterFault(joint, result)).toBeUndefined();
    expect(separateAfterFault(alone, failure("internal_error"))).toBeUndefined();
  });

  it("give each its own answer, and to all what failed as a whole", () => {
    const [joint] = joinRequests([operate("a"), operate("b"), operate("c")]);
    const outcome = (name: string): object => ({ ok: true, value: { name } });
    expect(splitResult(joint!, { ok: true, value: ["a", "b", "c"].map(outcome) })).toEqual(
      ["a", "b", "c"].map((name) => ({ ok: true, value: [outcome(name)] })),
    );
    const failure = { ok: false, code: "key_disabled", message: "the key is disabled" } as const;
    expect(splitResult(joint!, failure)).toEqual([failure, failure, failure]);
    expect(splitResult(joint!, undefined)).toEqual([undefined, undefined, undefined]);
    expect(splitResult(joinRequests([operate("a")])[0]!, { ok: true, value: [1, 2] })).toEqual([
      { ok: true, value: [1, 2] },
    ]);
  });
});

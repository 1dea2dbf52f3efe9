/** What proofs spend: once, whatever form they come in, by whom, and with what else in the commit. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { PROOF_SYSTEMS } from "../../../src/engine/proof-systems/names.js";
import { verifySparseProof } from "../../../src/engine/merkle/sparse-tree.js";
import { readTreeProof, verifyTreeProof } from "../../../src/engine/merkle/proof-json.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { PERMISSIONS } from "../../../src/platform/auth/permissions.js";
import type { AppError } from "../../../src/platform/errors.js";
import { newId } from "../../../src/platform/ids.js";
import { hashStatement, noteNullifier } from "../../../src/prover/proofs/public-inputs.js";
import type { ProofItem, Prover, ProveResult, VerifyResult } from "../../../src/prover/schemas.js";
import type { SpentKey } from "../../../src/prover/stores/pending-append.js";
import { subject } from "../../vault/support.js";
import { PAGE, failureOf, never, openTestRegistry, principalOf, provision, type TestRegistry } from "../support.js";

type Spends = Pick<ProofItem, "nullifier" | "spends">;

/** A nullifier of a secret in a scope, and a signal that the proof leaves open. */
const SOURCE = `pragma circom 2.1.0;
template Once() {
  signal input Secret; signal input Scope; signal input Free; signal input Pair[2];
  signal output Nullifier;
  signal squared <== Secret * Secret;
  Nullifier <== squared * Secret + Scope;
  signal free <== Free * Free;
  signal pair <== Pair[0] * Pair[1];
}
component main {public [Scope, Free, Pair]} = Once();`;

let test: TestRegistry;
let owner: Subject;
let prover: Prover;
let secrets = 1000;

beforeAll(async () => {
  test = await openTestRegistry();
  owner = subject();
  prover = await provision(test.provers, owner, { source: SOURCE });
});
afterAll(async () => {
  await test.close();
});

/** A proof with a nullifier that no other proof has. */
async function newProof(id = prover.id, more: { spend?: Spends; secret?: number; by?: Subject } = {}) {
  const secret = more.secret ?? (secrets += 1);
  const inputs = { Secret: String(secret), Scope: "5", Free: "9", Pair: ["2", "3"] };
  let spent: readonly SpentKey[] = [];
  const spend = { ...more.spend, mayCreate: true, onSpent: (keys: readonly SpentKey[]) => void (spent = keys) };
  const made = await test.provers.prove(more.by ?? owner, id, { inputs, format: "snarkjs", signal: never, spend });
  return { ...made, taken: spent, key: (BigInt(secret) ** 3n + 5n).toString(16).padStart(64, "0") };
}

async function verify(
  made: Pick<ProveResult, "public_signals"> & { readonly proof: unknown },
  spends: Spends,
  { id = prover.id, by = owner, store = false, permissions = undefined as number | undefined } = {},
): Promise<{ readonly result: boolean; readonly spent: readonly SpentKey[] }> {
  let spent: readonly SpentKey[] = [];
  const item: ProofItem = { proof: made.proof as string, public_signals: made.public_signals, ...spends };
  const principal = permissions === undefined ? principalOf(by) : principalOf(by, permissions);
  const result = await test.provers.verify(principal, id, {
    ...{ item, store, signal: never },
    spend: { onSpent: (keys) => void (spent = keys) },
  });
  return { result, spent };
}

const codeOf = async (run: () => unknown): Promise<string> => (await failureOf(run)).code;
const spentOf = (key: string, id = prover.id, by = owner) => test.registry.stores.proverNullifier(by, id, key);
const sizeOf = (id: string, by = owner): number => test.registry.stores.get(by, id).size;

/** What anyone can do to a valid Groth16 proof (eprint 2020/811): A and B negated, which stays valid. */
function reRandomized({ snarkjs, public_signals }: ProveResult) {
  const proof = snarkjs!.proof as { pi_a: string[]; pi_b: string[][] };
  const negate = (y: string): string => ((BN254.q - BigInt(y)) % BN254.q).toString();
  return {
    public_signals,
    proof: {
      ...proof,
      pi_a: [proof.pi_a[0]!, negate(proof.pi_a[1]!), proof.pi_a[2]!],
      pi_b: [proof.pi_b[0]!, proof.pi_b[1]!.map(negate), proof.pi_b[2]!],
    },
  };
}

describe("a nullifier", () => {
  it("is spent with the answer that is true, and the second time is refused", async () => {
    const made = await newProof();
    expect(spentOf(made.key)).toMatchObject({ spent: false, value: "", spent_at: null });
    const first = await verify(made, { nullifier: "Nullifier" });
    expect(first).toMatchObject({ result: true, spent: [{ key: made.key }] });
    expect(spentOf(made.key)).toMatchObject({ spent: true, root: first.spent[0]!.root, size: first.spent[0]!.size });
    const second = await failureOf(() => verify(made, { nullifier: "Nullifier" }));
    expect(second).toMatchObject({ code: "note_double_spend", status: 409 });
    expect((await verify(made, {})).result).toBe(true);
    expect((await verify(made, { nullifier: false })).spent).toEqual([]);
  });

  it("is spent once for all forms of a proof, and for all proofs that have it", async () => {
    const made = await newProof();
    const again = await newProof(prover.id, { secret: secrets });
    expect((await verify(reRandomized(made), { nullifier: "Nullifier" })).result).toBe(true);
    for (const proof of [made, reRandomized(made), again, reRandomized(again)])
      expect(await codeOf(() => verify(proof, { nullifier: "Nullifier" }))).toBe("note_double_spend");
  });

  it("is spent by one of twenty at once", async () => {
    const made = await newProof();
    const before = sizeOf(prover.nullifier_store_id);
    const other = reRandomized(made);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        verify(i % 2 === 0 ? made : other, { nullifier: "Nullifier" }, { store: i % 3 === 0 }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === "rejected") expect((outcome.reason as AppError).code).toBe("note_double_spend");
    expect(sizeOf(prover.nullifier_store_id)).toBe(before + 1);
  });

  it("is not spent by a false proof, nor by one that is refused", async () => {
    const made = await newProof();
    const wrong = { ...made, public_signals: made.public_signals.with(2, "8") };
    expect((await verify(wrong, { nullifier: "Nullifier" })).result).toBe(false);
    expect(await codeOf(() => verify({ ...made, proof: "00" }, { nullifier: "Nullifier" }))).toBe("proof_malformed");
    for (const nullifier of ["Secret", "nullifier", "Pair", "Pair[2]", "constructor"]) {
      const failure = await failureOf(() => verify(made, { nullifier }));
      expect(failure).toMatchObject({ code: "invalid_request", details: [{ path: "nullifier" }] });
      expect(failure.message).toContain("it has Nullifier, Scope, Free, Pair[0], Pair[1]");
    }
    expect(spentOf(made.key).spent).toBe(false);
    expect((await verify(made, { nullifier: "Nullifier" })).result).toBe(true);
  });

  it("may be any public signal, or the statement itself", async () => {
    const made = await newProof();
    const [one, statement] = [await verify(made, { nullifier: "Pair[1]" }), await verify(made, { nullifier: true })];
    expect(one.spent[0]!.key).toBe("3".padStart(64, "0"));
    expect(statement.spent[0]!.key).toBe(`00${made.statement_hash.slice(2)}`);
    expect(await codeOf(() => verify(reRandomized(made), { nullifier: true }))).toBe("note_double_spend");
    const verifyingKey = await test.provers.artifact(owner, prover.id, "verifying_key.json");
    expect(hashStatement(prover.id, verifyingKey.sha256, made.public_signals)).toBe(made.statement_hash);
  });

  it("is spent with a proof that is made here, or the proof is not kept", async () => {
    const made = await newProof(prover.id, { spend: { nullifier: "Nullifier" } });
    expect(made.taken).toMatchObject([{ key: made.key }]);
    const notes = sizeOf(prover.note_store_id);
    const { total } = test.provers.listProofs(owner, prover.id, PAGE);
    expect(await codeOf(() => newProof(prover.id, { spend: { nullifier: "Nullifier" }, secret: secrets }))).toBe(
      "note_double_spend",
    );
    expect(sizeOf(prover.note_store_id)).toBe(notes);
    expect(test.provers.listProofs(owner, prover.id, PAGE).total).toBe(total);
  });

  it("needs the permission to create", async () => {
    const made = await newProof();
    const permissions = PERMISSIONS.read;
    expect(await codeOf(() => verify(made, { nullifier: "Nullifier" }, { permissions }))).toBe("forbidden");
    expect((await verify(made, {}, { permissions })).result).toBe(true);
    expect(spentOf(made.key).spent).toBe(false);
  });

  it("tells its event to the owner, in the same commit", async () => {
    const made = await newProof();
    const count = (): number => test.store.count(["events"]);
    expect(count()).toBeGreaterThan(0);
    await verify(made, { nullifier: "Nullifier" });
    const [last] = test.store.range<{ subjects?: string[]; subject?: string }>(["events"], { reverse: true, limit: 1 });
    expect(JSON.stringify(last!.value)).toContain(
      `privacy.prover.notification.${owner.id}.${prover.id}.note.nullified`,
    );
  });

  it("leaves a membership and an absence that anyone can check", async () => {
    const made = await newProof();
    const before = sizeOf(prover.nullifier_store_id);
    await verify(made, { nullifier: "Nullifier" });
    const { nullifierProof } = {
      nullifierProof: (past: object) =>
        test.registry.stores.nullifierProof(owner, prover.nullifier_store_id, made.key, past),
    };
    const [now, then] = [nullifierProof({}), nullifierProof({ size: before })];
    expect([now.found, then.found]).toEqual([true, false]);
    for (const proof of [now, then]) {
      const read = readTreeProof(JSON.parse(JSON.stringify(proof)));
      expect([read.kind, verifyTreeProof(read)]).toEqual(["sparse", true]);
      if (read.kind === "sparse") expect(verifySparseProof({ ...read.proof, found: !read.proof.found })).toBe(false);
    }
    expect(now.value).toBe(`00${made.statement_hash.slice(2)}`);
    expect(nullifierProof({ levels: 32 }).inputs!["Siblings"]).toHaveLength(32);
    expect(await codeOf(() => nullifierProof({ levels: 1 }))).toBe("invalid_request");
  });
});

describe("a prover with a nullifier of its own", () => {
  it("spends it with each verification, and nothing else", async () => {
    const once = await provision(test.provers, owner, { source: SOURCE, nullifier: "Nullifier" });
    expect(once).toMatchObject({ status: "provisioned", nullifier: "Nullifier" });
    const made = await newProof(once.id);
    expect(made.taken).toEqual([]);
    const id = once.id;
    expect((await verify(made, { nullifier: false }, { id })).spent).toEqual([]);
    expect((await verify(made, {}, { id })).spent).toMatchObject([{ key: made.key }]);
    for (const spends of [{}, { nullifier: true }, { nullifier: "Nullifier" }])
      expect(await codeOf(() => verify(made, spends, { id }))).toBe("note_double_spend");
    expect(await codeOf(() => verify(made, { nullifier: "Free" }, { id }))).toBe("invalid_request");
    const permissions = PERMISSIONS.read;
    expect((await verify(made, { nullifier: false }, { id, permissions })).result).toBe(true);
    const refused = await failureOf(() => verify(made, {}, { id, permissions }));
    expect(refused).toMatchObject({ code: "forbidden" });
    expect(refused.message).toContain("`nullifier: false` verifies without spending");
  });

  it("fails when the circuit has no such public signal, also when it was compiled before", async () => {
    const failed = await provision(test.provers, owner, { source: SOURCE, nullifier: "Secret" });
    expect(failed).toMatchObject({ status: "failed", errors: [{ code: "nullifier_unknown" }] });
    expect(failed.errors[0]!.message).toContain("no public signal Secret");
    expect(await provision(test.provers, owner, { source: SOURCE, nullifier: true })).toMatchObject({
      status: "provisioned",
      nullifier: true,
    });
  });
});

describe("a note", () => {
  it("is replaced by the proof that spends it, once", async () => {
    const first = await newProof();
    const second = await newProof(prover.id, { spend: { spends: first.note_index } });
    expect(second.note_index).toBeGreaterThan(first.note_index);
    const note = await test.provers.note(owner, prover.id, first.note_index);
    expect(note.spent).toBe(true);
    const key = Buffer.from(note.nullifier_key, "base64").toString("hex");
    expect(second.taken).toMatchObject([{ key }]);
    const found = spentOf(key);
    expect(found.spent).toBe(true);
    expect(noteNullifier(found.value)).toBe(key);
    expect((await test.provers.note(owner, prover.id, second.note_index)).spent).toBe(false);
    const spends = first.note_index;
    expect(await codeOf(() => newProof(prover.id, { spend: { spends } }))).toBe("note_double_spend");
    expect(await codeOf(() => verify(second, { spends }))).toBe("note_double_spend");
    expect(await codeOf(() => verify(second, { spends: 1_000_000 }))).toBe("not_found");
    const both = await verify(second, { spends: second.note_index, nullifier: "Nullifier" });
    expect(both.spent.map(({ key: each }) => each).sort()).toEqual(
      [
        second.key,
        Buffer.from((await test.provers.note(owner, prover.id, second.note_index)).nullifier_key, "base64").toString(
          "hex",
        ),
      ].sort(),
    );
  });

  it("is spent by one of twenty at once, and the others leave no note", async () => {
    const { note_index: spends } = await newProof();
    const before = sizeOf(prover.note_store_id);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => newProof(prover.id, { spend: { spends } })),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(sizeOf(prover.note_store_id)).toBe(before + 1);
  });
});

describe("a batch", () => {
  it("spends each item for itself, and what is twice in it once", async () => {
    const [one, two, three] = [await newProof(), await newProof(), await newProof()];
    await verify(three, { nullifier: "Nullifier" });
    const item = ({ proof, public_signals }: ProveResult, spends: Spends = {}): ProofItem => ({
      proof,
      public_signals,
      ...spends,
    });
    const wrong = { ...item(two), public_signals: two.public_signals.with(2, "8") };
    const twin = reRandomized(one);
    const answer = await test.provers.verifyBatch(owner, prover.id, {
      body: {
        nullifier: "Nullifier",
        batch: [
          item(one),
          wrong,
          { ...twin, proof: twin.proof },
          item(three),
          item(three, { nullifier: false }),
          item(two, { nullifier: "Secret" }),
        ],
      },
      permissions: principalOf(owner).permissions,
      signal: never,
    });
    expect(answer).toMatchObject({
      result: false,
      batch: [
        { result: true, spent: [{ key: one.key }] },
        { result: false },
        { errors: [{ code: "note_double_spend" }] },
        { errors: [{ code: "note_double_spend" }] },
        { result: true },
        { errors: [{ code: "invalid_request", path: "nullifier" }] },
      ],
    });
    expect([spentOf(one.key).spent, spentOf(two.key).spent]).toEqual([true, false]);
    const refused = await test.provers.verifyBatch(owner, prover.id, {
      body: { batch: [item(two, { nullifier: "Nullifier" })] },
      signal: never,
    });
    expect(refused).toMatchObject({ batch: [{ errors: [{ code: "forbidden" }] }] });
  });

  it("tells what it has spent when the rest of it fails", async () => {
    const shared = await provision(test.provers, owner, { source: SOURCE, nullifier: "Nullifier" });
    const friend = subject();
    const { id: grant } = await test.registry.sharing.grant(owner, shared.id, { user_id: friend.id });
    const made = await newProof(shared.id);
    const spending: ProofItem = { proof: made.proof, public_signals: made.public_signals };
    const idle: ProofItem = { ...spending, nullifier: false };
    const slice = PROOF_SYSTEMS["groth16/BN254"].verifySliceItems;
    const verifyAll = async (batch: ProofItem[], by: Subject): Promise<VerifyResult> =>
      await test.provers.verifyBatch(by, shared.id, {
        body: { batch },
        permissions: principalOf(by).permissions,
        signal: never,
        // The grant ends between the first slice and the second.
        attest: {
          begin: async () => await Promise.resolve(),
          confirm: async () => await Promise.resolve(),
          confirmed: () => ({}),
          sign: async () => {
            await test.registry.sharing.revoke(owner, shared.id, grant);
          },
          receiptOf: () => ({}),
        },
      });
    const { batch, result } = await verifyAll([spending, ...Array<ProofItem>(slice).fill(idle)], friend);
    expect(result).toBe(false);
    expect(batch).toHaveLength(slice + 1);
    expect(batch?.[0]).toMatchObject({ result: true, spent: [{ key: made.key }] });
    expect(batch?.[slice - 1]).toEqual({ result: true });
    expect(batch?.[slice]).toMatchObject({ errors: [{ code: "not_found" }] });
    expect(spentOf(made.key, shared.id)).toMatchObject({ spent: true });
  });
});

describe("a store of nullifiers", () => {
  it("is shared by provers, so that what one has spent the other has not", async () => {
    const twin = await provision(test.provers, owner, {
      source: SOURCE,
      nullifier_store_id: prover.nullifier_store_id,
    });
    const made = await newProof();
    const same = await newProof(twin.id, { secret: secrets });
    expect(same.key).toBe(made.key);
    const both = await Promise.allSettled([
      verify(made, { nullifier: "Nullifier" }),
      verify(same, { nullifier: "Nullifier" }, { id: twin.id }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(spentOf(made.key, twin.id)).toEqual(spentOf(made.key));
    const { provers } = test.registry.stores.get(owner, prover.nullifier_store_id);
    expect([...provers].sort()).toEqual([prover.id, twin.id].sort());
    await test.provers.delete(owner, twin.id);
    expect(spentOf(made.key).spent).toBe(true);
  });

  it("is the owner's also for those with whom a prover is shared, who spend what the owner has named", async () => {
    const shared = await provision(test.provers, owner, { source: SOURCE, nullifier: "Nullifier" });
    const open = await provision(test.provers, owner, { source: SOURCE });
    const [friend, checker] = [subject(), subject()];
    for (const { id } of [shared, open]) {
      await test.registry.sharing.grant(owner, id, { user_id: friend.id });
      await test.registry.sharing.grant(owner, id, { user_id: checker.id, may: "verify" });
    }
    const made = await newProof(shared.id, { by: friend });
    const id = shared.id;
    expect(await codeOf(() => verify(made, {}, { id, by: checker }))).toBe("forbidden");
    expect((await verify(made, { nullifier: false }, { id, by: checker })).result).toBe(true);
    expect((await verify(made, {}, { id, by: friend })).spent).toMatchObject([{ key: made.key }]);
    expect(await codeOf(() => verify(made, {}, { id }))).toBe("note_double_spend");
    expect(spentOf(made.key, id).spent).toBe(true);
    expect(spentOf(made.key, id, friend)).toMatchObject({ spent: true, size: sizeOf(shared.nullifier_store_id) });
    expect(await codeOf(() => spentOf(made.key, id, checker))).toBe("forbidden");
    expect(await codeOf(() => spentOf(made.key, id, subject()))).toBe("not_found");
    expect(await codeOf(() => test.registry.stores.get(friend, shared.nullifier_store_id))).toBe("not_found");
    // Nobody else chooses which signal is spent in the owner's store; the statement itself is safe.
    const other = await newProof(open.id, { by: friend });
    expect(await codeOf(() => verify(other, { nullifier: "Free" }, { id: open.id, by: friend }))).toBe("forbidden");
    expect((await verify(other, { nullifier: true }, { id: open.id, by: friend })).result).toBe(true);
    // A note is its owner's, and so is the store that its key goes into.
    const before = sizeOf(open.nullifier_store_id);
    const next = await newProof(open.id, { by: friend, spend: { spends: other.note_index } });
    expect(sizeOf(open.nullifier_store_id)).toBe(before);
    expect(spentOf(next.taken[0]!.key, open.id, friend).spent).toBe(true);
    expect(spentOf(next.taken[0]!.key, open.id).spent).toBe(false);
    const own = test.registry.stores.list(friend, PAGE).body;
    expect(own.map(({ kind, size }) => `${kind} ${String(size)}`).sort()).toEqual(
      ["notes 1", "notes 2", "nullifiers 0", "nullifiers 1"].sort(),
    );
  });

  it("goes with its last prover, with everything in it", async () => {
    const who = subject();
    const gone = await provision(test.provers, who, { source: SOURCE });
    const made = await newProof(gone.id, { by: who, spend: { nullifier: "Nullifier" } });
    await newProof(gone.id, { by: who, spend: { spends: made.note_index } });
    await test.registry.stores.head(who, gone.nullifier_store_id);
    await test.provers.delete(who, gone.id);
    const tables = [
      ...["note", "note_node", "note_statement", "note_spent", "nullifier", "nullifier_nodes", "proof_store"],
      ...["proof_store_user", "proof_store_root", "proof_store_size", "proof_store_head", "proof_store_signer"],
    ];
    for (const table of tables) expect(test.store.count([table, who.kind, who.id]), table).toBe(0);
    expect(await codeOf(() => test.registry.stores.get(who, gone.nullifier_store_id))).toBe("not_found");
    expect(await codeOf(() => test.registry.stores.get(owner, newId()))).toBe("not_found");
  });
});

/**
 * Provers that are shared: what others may do by each route, whose the results are, and the end of a right, also for
 * requests that are running.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Principal, Subject } from "../../src/platform/auth/principal.js";
import type { AnyHandler, RouteSpec } from "../../src/platform/contract/route.js";
import { AppError } from "../../src/platform/errors.js";
import { newId } from "../../src/platform/ids.js";
import type {
  ProveValue,
  TaskResult,
  VerifyBatchMessage,
  VerifyBatchValue,
  VerifyMessage,
  VerifyValue,
} from "../../src/engine/protocol.js";
import type { ProveInput } from "../../src/prover/compute/compute.js";
import { mergeCommits } from "../../src/platform/store/commits.js";
import { ProverRepository } from "../../src/prover/repository.js";
import { proverRoutes } from "../../src/prover/routes.js";
import type { ProveResult } from "../../src/prover/schemas.js";
import { subject } from "../vault/support.js";
import { LocalCompute } from "./local-compute.js";
import { PAGE, failureOf, never, openTestRegistry, principalOf, provision, type TestRegistry } from "./support.js";

interface Asked {
  readonly owner: string;
}

/** Lets a test do something while a proof or a verification is computed. */
class PausedCompute extends LocalCompute {
  meanwhile: (() => Promise<void>) | undefined;
  /** In whose turn each task was asked for. */
  readonly askers: string[] = [];

  override async prove(message: ProveInput, asked?: Asked): Promise<TaskResult<ProveValue>> {
    return await this.#paused(super.prove(message), asked);
  }

  override async verify(message: VerifyMessage, asked?: Asked): Promise<TaskResult<VerifyValue>> {
    return await this.#paused(super.verify(message), asked);
  }

  override async verifyBatch(message: VerifyBatchMessage, asked?: Asked): Promise<TaskResult<VerifyBatchValue>> {
    return await this.#paused(super.verifyBatch(message), asked);
  }

  async #paused<T>(task: Promise<T>, asked: Asked | undefined): Promise<T> {
    this.askers.push(String(asked?.owner));
    const result = await task;
    const { meanwhile } = this;
    this.meanwhile = undefined;
    await meanwhile?.();
    return result;
  }
}

const compute = new PausedCompute();
const INPUTS = { X: "3", Y: "35" };
const owner = subject();
const prover = subject("organization");
const verifier = subject("application");
const stranger = subject();

let test: TestRegistry;
let id: string;
/** Shared with the prover and the verifier, and not with anyone. */
let named: string;
let proof: ProveResult;

beforeAll(async () => {
  test = await openTestRegistry({ compute });
  ({ id } = await provision(test.provers, owner, { name: "open", meta: { secret_plan: "x" }, tags: ["v1"] }));
  ({ id: named } = await provision(test.provers, owner, { name: "named" }));
  const { sharing } = test.registry;
  for (const shared of [id, named]) {
    await sharing.grant(owner, shared, { organization_id: prover.id });
    await sharing.grant(owner, shared, { application_id: verifier.id, may: "verify" });
  }
  await sharing.grant(owner, id, { anyone: true });
  proof = await test.provers.prove(owner, id, { inputs: INPUTS, signal: never });
  await test.provers.prove(prover, id, { inputs: INPUTS, signal: never });
});
afterAll(async () => {
  await test.close();
});

const handlers = (): Readonly<Record<string, AnyHandler>> => test.registry.handlers;

/** Calls a route as a subject; returns its status, or that of its failure. */
async function call(route: string, who: Subject, parts: object = {}): Promise<number> {
  const principal: Principal = principalOf(who);
  const request = {
    principal,
    params: { id },
    query: { ...PAGE },
    body: undefined,
    sentBack: {},
    signal: never,
    ...parts,
  };
  try {
    return (await handlers()[route]!(request as never)).status;
  } catch (error) {
    if (error instanceof AppError) return error.status;
    throw error;
  }
}

describe("each route of a shared prover", () => {
  /** Status by who calls: one who may prove, one who may verify, anyone, and anyone where only names are allowed. */
  const ROUTES: readonly (readonly [route: string, parts: () => object, ...statuses: readonly number[]])[] = [
    ["getProver", () => ({}), 404, 404, 404],
    ["getProverStatus", () => ({}), 404, 404, 404],
    ["getProverAnalysis", () => ({}), 404, 404, 404],
    ["updateProver", () => ({ body: { meta: {} } }), 404, 404, 404],
    ["uploadProverArtifact", () => ({ params: { id, name: "circuit.r1cs" } }), 404, 404, 404],
    ["listProverGrants", () => ({}), 404, 404, 404],
    ["createProverGrant", () => ({ body: { user_id: newId() } }), 404, 404, 404],
    ["deleteProverGrant", () => ({ params: { id, grant_id: grantOf(prover) } }), 404, 404, 404],
    ["getCeremony", () => ({}), 404, 404, 404],
    ["updateCeremony", () => ({ body: { open: true } }), 404, 404, 404],
    ["listCeremonyInvitations", () => ({}), 404, 404, 404],
    ["createCeremonyInvitation", () => ({ body: { name: "Ada" } }), 404, 404, 404],
    ["deleteCeremonyInvitation", () => ({ params: { id, invitation_id: newId() } }), 404, 404, 404],
    ["removeCeremonyParticipant", () => ({ params: { id, participant_id: newId() } }), 404, 404, 404],
    ["endCeremony", () => ({ body: { value: "00".repeat(32) } }), 404, 404, 404],
    ["cancelCeremony", () => ({}), 404, 404, 404],
    ["getSharedProver", () => ({}), 200, 200, 200],
    ["prove", () => ({ body: { witness: INPUTS } }), 201, 403, 403],
    ["proveBatch", () => ({ body: { batch: [{ witness: INPUTS }] } }), 200, 403, 403],
    ["proveFile", () => ({ body: { bytes: 0 } }), 422, 403, 403],
    ["createProverInputKey", () => ({}), 404, 404, 404],
    ["listProverInputKeys", () => ({}), 200, 403, 403],
    ["verify", () => ({ body: { witness: { Y: "35" }, proof: proof.proof } }), 200, 200, 200],
    ["verify", () => ({ body: { batch: [{ witness: { Y: "35" }, proof: proof.proof }] } }), 200, 200, 200],
    ["verify", () => ({ body: { witness: { Y: "35" }, proof: proof.proof, store: true } }), 200, 403, 403],
    ["verify", () => ({ body: { witness: { Y: "35" }, proof: proof.proof, on_chain: true } }), 403, 403, 403],
    ["listVerifiers", () => ({}), 404, 404, 404],
    ["createVerifier", () => ({ body: { network_id: newId(), account_id: newId() } }), 404, 404, 404],
    ["getVerifier", () => ({ params: { id, verifier_id: newId() } }), 404, 404, 404],
    ["checkVerifier", () => ({ params: { id, verifier_id: newId() } }), 404, 404, 404],
    ["deleteVerifier", () => ({ params: { id, verifier_id: newId() } }), 404, 404, 404],
    ["verify", () => ({ body: { witness: { Y: "35" }, proof: proof.proof, nullifier: true } }), 200, 403, 403],
    ["verify", () => ({ body: { witness: { Y: "35" }, proof: proof.proof, spends: 0 } }), 200, 403, 403],
    ["verify", () => ({ body: { witness: { Y: "35" }, proof: proof.proof, nullifier: false } }), 200, 200, 200],
    ["getProverNullifier", () => ({ params: { id, key: "0".repeat(64) } }), 200, 403, 403],
    ["listProverArtifacts", () => ({}), 200, 200, 200],
    ["getProverArtifact", () => ({ params: { id, name: "verifying_key.json" } }), 200, 200, 200],
    ["getProverArtifact", () => ({ params: { id, name: "verifier.sol" } }), 200, 200, 200],
    ["getProverArtifact", () => ({ params: { id, name: "interface.json" } }), 200, 404, 404],
    ["getProverArtifact", () => ({ params: { id, name: "source.json" } }), 404, 404, 404],
    ["getReceiptKeySet", () => ({}), 404, 404, 404],
    ["listReceiptKeys", () => ({}), 404, 404, 404],
    ["rotateReceiptKey", () => ({}), 404, 404, 404],
    ["revokeReceiptKey", () => ({ params: { id, kid: newId() } }), 404, 404, 404],
    ["getProverSource", () => ({}), 404, 404, 404],
    ["getProverSourceArchive", () => ({}), 404, 404, 404],
    ["getProverArtifact", () => ({ params: { id, name: "proving_key" } }), 404, 404, 404],
    ["getProverArtifact", () => ({ params: { id, name: "proving_key.zkey" } }), 404, 404, 404],
    ["getProverArtifact", () => ({ params: { id, name: "circuit.wasm" } }), 404, 404, 404],
    ["getProverArtifact", () => ({ params: { id, name: "circuit.r1cs" } }), 404, 404, 404],
    ["getProverArtifact", () => ({ params: { id, name: "circuit.sym" } }), 404, 404, 404],
    ["getProverArtifact", () => ({ params: { id, name: "analysis.json" } }), 404, 404, 404],
    ["listProofs", () => ({}), 200, 403, 403],
    ["getProof", () => ({ params: { id, proof_id: proof.id } }), 404, 403, 403],
    ["getNote", () => ({ params: { id, index: "0" } }), 200, 403, 403],
    ["getNote", () => ({ params: { id, index: "99" } }), 404, 403, 403],
    ["deleteProver", () => ({}), 404, 404, 404],
    ["leaveSharedProver", () => ({}), 204, 204, 404],
  ];

  it("is known here", () => {
    const ofOneProver = Object.values(proverRoutes as Readonly<Record<string, RouteSpec>>).filter(({ path }) =>
      path.includes("provers/:id"),
    );
    expect([...new Set(ROUTES.map(([route]) => route))].sort()).toEqual(ofOneProver.map((route) => route.id).sort());
  });

  it("answers each of them by what it may, and a stranger as if it did not exist", async () => {
    const strangers = [stranger, subject("application"), subject("organization")];
    for (const [route, parts, ...expected] of ROUTES.filter(([name]) => name !== "leaveSharedProver")) {
      const asked = parts();
      const answers = [];
      for (const who of [prover, verifier, stranger]) answers.push(await call(route, who, asked));
      expect(answers, route).toEqual(expected);
      const elsewhere = { ...asked, params: { ...(asked as { params?: object }).params, id: named } };
      for (const who of strangers) expect(await call(route, who, elsewhere), route).toBe(404);
    }
  });

  it("tells of an unshared prover what it tells of none", async () => {
    for (const [route, parts] of ROUTES) {
      const asked = parts() as { params?: object };
      const failures = [];
      for (const absent of [named, newId()])
        failures.push(
          await failureOf(() =>
            handlers()[route]!({
              ...{ principal: principalOf(stranger), query: { ...PAGE }, body: undefined, sentBack: {}, signal: never },
              ...asked,
              params: { ...asked.params, id: absent },
            } as never),
          ),
        );
      const [shared, none] = failures.map(({ code, message, details }) => ({ code, message, details }));
      expect(shared, route).toEqual(none);
      expect(shared, route).toMatchObject({ code: "not_found" });
    }
  });

  it("says to others only what they need", async () => {
    const shared = test.registry.sharing.get(stranger, id);
    expect(shared).toMatchObject({ name: "open", may: ["verify"], shared_by: `user:${owner.id}` });
    const { may } = test.registry.sharing.get(prover, id);
    expect(may).toEqual(["verify", "prove"]);
    const record = test.provers.get(owner, id);
    for (const secret of [
      record.vault_id,
      record.note_store_id,
      record.nullifier_store_id,
      record.proving_key_id,
      "plan",
    ])
      expect(JSON.stringify(shared)).not.toContain(secret);
    expect((await test.provers.artifacts(stranger, id)).map(({ name }) => name)).toEqual([
      "verifying_key.json",
      "verifier.sol",
      "verifier_caller.sol",
    ]);
    expect(await call("getSharedProver", owner)).toBe(404);
    const body = { witness: INPUTS, vault_id: record.vault_id };
    const said = await failureOf(() => test.provers.requireSaid(principalOf(prover), id, body));
    expect(said).toMatchObject({ code: "not_found", message: "vault_id: vault not found" });
  });

  function grantOf(who: Subject): string {
    const grants = test.registry.sharing.listGrants(owner, id, PAGE).body;
    return grants.find((grant) => grant.organization_id === who.id)!.id;
  }
});

describe("what is made with another's prover", () => {
  it("belongs to the one who made it", async () => {
    const who = subject();
    const { sharing } = test.registry;
    await sharing.grant(owner, named, { user_id: who.id });
    expect(test.provers.listProofs(who, named, PAGE).total).toBe(0);
    const made = await test.provers.prove(who, named, { inputs: INPUTS, meta: { mine: "1" }, signal: never });
    const own = await test.provers.prove(owner, named, { inputs: INPUTS, signal: never });
    expect(made.note_index).toBe(0);
    expect(own.note_index).toBe(0);
    expect(test.provers.listProofs(who, named, PAGE).body.map((row) => row.id)).toEqual([made.id]);
    expect(test.provers.listProofs(owner, named, PAGE).body.map((row) => row.id)).toEqual([own.id]);
    const note = await test.provers.note(who, named, 0);
    expect(Buffer.from(note.value, "base64").toString()).toContain(made.proof);
    const vaults = test.vault.vault.listVaults(who, PAGE).body;
    expect(vaults.map(({ name }) => name)).toEqual(["shared prover named"]);
    // The owner can open neither the vault nor the note.
    expect(await failureOf(() => test.vault.vault.getVault(owner, vaults[0]!.id))).toMatchObject({ code: "not_found" });
    await test.vault.vault.deleteVault(who, vaults[0]!.id);
    const again = await test.provers.prove(who, named, { inputs: INPUTS, signal: never });
    expect(again.note_index).toBe(1);
    expect(await failureOf(() => test.provers.note(who, named, 0))).toMatchObject({ code: "not_found" });
    expect((await test.provers.note(who, named, 1)).index).toBe(1);
  });

  it("goes on in its maker's vault when the key of the notes was deleted, and leaves none behind", async () => {
    const who = subject();
    const { vault } = test.vault;
    await test.registry.sharing.grant(owner, named, { user_id: who.id });
    await test.provers.prove(who, named, { inputs: INPUTS, signal: never });
    const vaultId = vault.listVaults(who, PAGE).body[0]!.id;
    const kept = await vault.createSecret(who, vaultId, { name: "mine", type: "text", value: "kept" });
    const [first] = vault.listKeys(who, vaultId, PAGE).body.filter(({ name }) => name === "notes");
    await vault.deleteKey(who, vaultId, first!.id);
    const proofs = Array.from({ length: 3 }, () => test.provers.prove(who, named, { inputs: INPUTS, signal: never }));
    expect((await Promise.all(proofs)).map(({ note_index }) => note_index).sort()).toEqual([1, 2, 3]);
    expect(vault.listVaults(who, PAGE).total).toBe(1);
    expect(vault.listKeys(who, vaultId, PAGE).body.filter(({ name }) => name === "notes")).toHaveLength(1);
    expect(await vault.retrieveSecret(who, vaultId, kept.id)).toBe("kept");
    expect((await test.provers.note(who, named, 3)).index).toBe(3);
    expect(await failureOf(() => test.provers.note(who, named, 0))).toMatchObject({ code: "not_found" });
    await test.registry.sharing.leave(who, named);
    expect(vault.listVaults(who, PAGE).total).toBe(0);
  });

  it("names places in the source to the owner only", async () => {
    const inputs = { X: "3", Y: "36" };
    const code = "constraints_unsatisfied";
    const [owned, shared] = await Promise.all(
      [owner, prover].map(
        async (who) => await failureOf(() => test.provers.prove(who, named, { inputs, signal: never })),
      ),
    );
    expect(owned).toMatchObject({ code });
    expect(owned!.message).toMatch(/template \w+, line \d+/);
    expect(shared).toMatchObject({ code });
    expect(JSON.stringify([shared!.message, shared!.details])).not.toMatch(/template|line|path|:\d/);
    const unknown = { inputs: { ...INPUTS, Z: "1" }, signal: never };
    expect(await failureOf(() => test.provers.prove(prover, named, unknown))).toMatchObject({
      code: "witness_invalid",
    });
  });

  it("takes the turns of the one who asks", async () => {
    const who = subject();
    await test.registry.sharing.grant(owner, named, { user_id: who.id });
    compute.askers.length = 0;
    const reads = vi.spyOn(test.vault.vault, "retrieveSecret");
    await test.provers.prove(who, named, { inputs: INPUTS, signal: never });
    await test.provers.verify(principalOf(who), named, {
      item: { proof: proof.proof, witness: { Y: "35" } },
      store: false,
      signal: never,
    });
    expect(compute.askers).toEqual([`user:${who.id}`, `user:${who.id}`]);
    // The keys' pins are secrets of the owner's vault.
    const turns = reads.mock.calls.map(([, , , asker]) => asker);
    reads.mockRestore();
    expect(new Set(turns)).toEqual(new Set([`user:${who.id}`]));
  });

  it("makes one place, however many proofs begin together, and stays when the prover goes", async () => {
    const who = subject();
    const { id: short } = await provision(test.provers, owner, { name: "short" });
    await test.registry.sharing.grant(owner, short, { user_id: who.id });
    const made = await Promise.all(
      Array.from({ length: 4 }, async () => await test.provers.prove(who, short, { inputs: INPUTS, signal: never })),
    );
    expect(made.map((each) => each.note_index).sort()).toEqual([0, 1, 2, 3]);
    expect(test.vault.vault.listVaults(who, PAGE).total).toBe(1);
    await test.provers.delete(owner, short);
    expect(test.store.count(["prover_grant", who.kind, who.id])).toBe(0);
    expect(test.registry.sharing.list(who, PAGE).total).toBe(0);
    expect(test.provers.listProofs(who, short, PAGE).total).toBe(4);
    expect((await test.provers.note(who, short, 3)).size).toBe(4);
    await test.registry.sharing.leaveAll(who);
    for (const table of ["prover_place", "prover_grant", "proof", "proof#prover", "note", "proof_store", "vault"])
      expect(test.store.count([table, who.kind, who.id]), table).toBe(0);
    expect(await failureOf(() => test.provers.listProofs(who, short, PAGE))).toMatchObject({ code: "not_found" });
  });
});

describe("a subject that is being deleted", () => {
  it("leaves each prover once, whatever their owners revoke and grant meanwhile", async () => {
    const who = subject();
    const { sharing } = test.registry;
    const shared = [id, named];
    const grants = await Promise.all(shared.map(async (each) => await sharing.grant(owner, each, { user_id: who.id })));
    const commit = test.store.commit.bind(test.store);
    const hostile = vi.spyOn(test.store, "commit");
    let turns = 0;
    hostile.mockImplementation(async (written) => {
      await commit(written);
      turns += 1;
      if (turns !== 1) return;
      // The first prover is shared again, and the other no more.
      hostile.mockRestore();
      const left = shared.findIndex((each) => test.store.get(["prover_grant", who.kind, who.id, each]) === undefined);
      await sharing.grant(owner, shared[left]!, { user_id: who.id });
      await sharing.revoke(owner, shared[1 - left]!, grants[1 - left]!.id);
    });
    await sharing.leaveAll(who);
    expect(test.store.count(["prover_grant", who.kind, who.id])).toBe(1);
    await sharing.leaveAll(who);
    expect(test.store.count(["prover_grant", who.kind, who.id])).toBe(0);
  });
});

describe("the end of a right", () => {
  it("holds for requests that are running", async () => {
    const who = subject();
    const { sharing } = test.registry;
    const item = { proof: proof.proof, witness: { Y: "35" } };
    const requests: readonly (() => Promise<unknown>)[] = [
      async () => await test.provers.prove(who, id, { inputs: INPUTS, signal: never }),
      async () => await test.provers.verify(principalOf(who), id, { item, store: true, signal: never }),
    ];
    for (const request of requests) {
      const grant = await sharing.grant(owner, id, { user_id: who.id });
      compute.meanwhile = async () => {
        await sharing.revoke(owner, id, grant.id);
      };
      // Anyone may still verify with it.
      expect(await failureOf(request)).toMatchObject({ code: "forbidden" });
      expect(test.store.count(["proof", who.kind, who.id])).toBe(0);
      expect(test.store.count(["prover_place", who.kind, who.id])).toBe(0);
    }
    const verifications: readonly (() => Promise<unknown>)[] = [
      async () => await test.provers.verify(principalOf(who), named, { item, store: false, signal: never }),
      async () => await test.provers.verifyBatch(who, named, { body: { batch: [item] }, signal: never }),
    ];
    for (const request of verifications) {
      const grant = await sharing.grant(owner, named, { user_id: who.id, may: "verify" });
      compute.meanwhile = async () => {
        await sharing.revoke(owner, named, grant.id);
      };
      expect(await failureOf(request)).toMatchObject({ code: "not_found" });
    }
  });

  it("leaves what was made, until its maker gives that up", async () => {
    const who = subject();
    const { sharing } = test.registry;
    const grant = await sharing.grant(owner, named, { user_id: who.id });
    const made = await test.provers.prove(who, named, { inputs: INPUTS, signal: never });
    await sharing.revoke(owner, named, grant.id);
    expect(await failureOf(() => test.provers.prove(who, named, { inputs: INPUTS, signal: never }))).toMatchObject({
      code: "not_found",
    });
    expect(test.provers.getProof(who, named, made.id).hash).toBe(made.hash);
    await sharing.leave(who, named);
    expect(await failureOf(() => test.provers.getProof(who, named, made.id))).toMatchObject({ code: "not_found" });
    expect(await failureOf(() => sharing.leave(who, named))).toMatchObject({ code: "not_found" });
    // Others, the owner's among them, keep theirs.
    expect(test.provers.listProofs(owner, named, PAGE).total).toBeGreaterThan(0);
  });
});

describe("a grant", () => {
  it("names one subject or anyone, and is changed by another to the same", async () => {
    const { sharing } = test.registry;
    const who = subject();
    const refused = async (request: object): Promise<string | undefined> =>
      (await failureOf(() => sharing.grant(owner, named, request))).details[0]?.path;
    expect(await refused({})).toBe("user_id");
    expect(await refused({ anyone: false })).toBe("user_id");
    expect(await refused({ user_id: who.id, application_id: who.id })).toBe("user_id");
    expect(await refused({ user_id: who.id, anyone: true })).toBe("user_id");
    expect(await refused({ anyone: true, may: "prove" })).toBe("may");
    expect(await refused({ user_id: owner.id })).toBe("user_id");
    const first = await sharing.grant(owner, named, { user_id: who.id });
    const second = await sharing.grant(owner, named, { user_id: who.id, may: "verify" });
    expect(second).toEqual({ ...first, may: "verify" });
    expect(sharing.list(who, PAGE).body.map(({ may }) => may)).toEqual([["verify"]]);
    // The same id as another kind of subject is another subject.
    expect(await failureOf(() => sharing.get({ kind: "application", id: who.id }, named))).toMatchObject({
      code: "not_found",
    });
    expect(await failureOf(() => sharing.revoke(stranger, named, first.id))).toMatchObject({ code: "not_found" });
    expect(await failureOf(() => sharing.revoke(owner, id, first.id))).toMatchObject({ code: "not_found" });
  });

  it("is one of a hundred at most, and goes with its prover even when both are written together", async () => {
    const { sharing } = test.registry;
    const who = subject();
    const { id: busy } = await provision(test.provers, who);
    const { grants } = new ProverRepository(test);
    const base = { created_at: new Date().toISOString(), owner: who, prover_id: busy, may: "prove" } as const;
    const many = Array.from({ length: 99 }, () => grants.put(undefined, { ...base, id: newId(), grantee: subject() }));
    await test.store.commit(mergeCommits(...many));
    await sharing.grant(who, busy, { user_id: newId() });
    expect(await failureOf(() => sharing.grant(who, busy, { user_id: newId() }))).toMatchObject({
      code: "grant_limit_reached",
    });
    const { id: short } = await provision(test.provers, who);
    const late = subject();
    await Promise.allSettled([
      sharing.grant(who, short, { user_id: late.id }),
      test.provers.delete(who, short),
      sharing.grant(who, short, { anyone: true }),
    ]);
    await failureOf(() => test.provers.get(who, short));
    expect(test.store.count(["prover_grant", late.kind, late.id])).toBe(0);
    expect(test.store.count(["prover_grant#prover", who.kind, who.id, short])).toBe(0);
    expect(test.store.count(["prover_labels", who.kind, who.id, short])).toBe(0);
  });
});

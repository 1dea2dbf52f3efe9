/** What the prover registry's service does for its callers, on real circuits, a real store and a real vault. */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import type { TSchema } from "typebox";
import Value from "typebox/value";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PERMISSIONS } from "../../src/platform/auth/permissions.js";
import type { Subject } from "../../src/platform/auth/principal.js";
import { newId } from "../../src/platform/ids.js";
import { proverRoutes } from "../../src/prover/routes.js";
import type { ProofItem, Prover } from "../../src/prover/schemas.js";
import { hashProof } from "../../src/prover/proofs/public-inputs.js";
import { removeFolder } from "../support/temporary-folder.js";
import { subject } from "../vault/support.js";
import {
  CUBIC,
  PAGE,
  failureOf,
  never,
  openTestRegistry,
  principalOf,
  provision,
  register,
  type TestRegistry,
} from "./support.js";

let test: TestRegistry;
let owner: Subject;
let cubic: Prover;
const INPUTS = { X: "3", Y: "35" };

beforeAll(async () => {
  test = await openTestRegistry();
  owner = subject();
  cubic = await provision(test.provers, owner, { name: "Cubic one" });
});
afterAll(async () => {
  await test.close({ keep: true });
  removeFolder(test.folder);
});

const itemOf = (proof: unknown, inputs: unknown): ProofItem =>
  Object.fromEntries(Object.entries({ witness: inputs, proof }).filter(([, value]) => value !== undefined));
const prove = (id: string, inputs: unknown = INPUTS, format?: "snarkjs" | "solidity") =>
  test.provers.prove(owner, id, { inputs, format, signal: never });
const verify = (id: string, proof: unknown, inputs: unknown = { Y: "35" }, store = false) =>
  test.provers.verify(principalOf(owner), id, { item: itemOf(proof, inputs), store, signal: never });

describe("registering a prover", () => {
  it("takes names in any case, aliases of curve and provider, and absent optional members", async () => {
    const prover = await register(test.provers, owner, {
      identifier: "CuBiC",
      proving_scheme: "Groth16",
      curve: "alt_bn128",
      provider: "GNARK",
      description: null,
      note_store_id: null,
    });
    expect(prover).toMatchObject({
      identifier: "cubic",
      proving_scheme: "groth16",
      curve: "BN254",
      provider: "circom",
      name: "cubic",
      description: null,
    });
    await test.provers.delete(owner, prover.id);
  });

  it("refuses another triple and lists the supported ones", async () => {
    for (const change of [{ proving_scheme: "marlin" }, { curve: "BLS12_377" }, { provider: "zokrates" }]) {
      const failure = await failureOf(() => register(test.provers, owner, change));
      expect(failure).toMatchObject({ code: "prover_unsupported", status: 422 });
      expect(failure.message).toContain("circom/groth16/BN254");
    }
  });

  it("names the built-in circuits when asked for another", async () => {
    const failure = await failureOf(() => register(test.provers, owner, { identifier: "cubik" }));
    expect(failure).toMatchObject({ code: "identifier_unknown", status: 422 });
    expect(failure.message).toContain("merkle_membership");
  });

  it("wants either an identifier or a source, not both and not neither", async () => {
    const wait = { waitSec: 0, signal: never };
    expect(await failureOf(() => test.provers.create(owner, { ...CUBIC, source: "x" }, wait))).toMatchObject({
      code: "source_invalid",
    });
    expect(
      await failureOf(() => test.provers.create(owner, { proving_scheme: "groth16", curve: "BN254" }, wait)),
    ).toMatchObject({ code: "source_invalid" });
    expect(await failureOf(() => register(test.provers, owner, { main: "main.circom" }))).toMatchObject({
      code: "source_invalid",
    });
  });

  it("takes a source of several files, with the main one by rule or by name", async () => {
    const template = "pragma circom 2.1.0; template Square() { signal input x; signal output y; y <== x * x; }";
    const main = 'pragma circom 2.1.0; include "lib/square.circom"; component main = Square();';
    const byRule = await provision(test.provers, owner, {
      source: { "main.circom": main, "lib/square.circom": template },
    });
    expect(byRule).toMatchObject({ status: "provisioned", errors: [] });
    expect(byRule.identifier).toMatch(/^source-[0-9a-f]{16}$/);
    const byName = await provision(test.provers, owner, {
      source: { "start.circom": main, "lib/square.circom": template },
      main: "start.circom",
    });
    expect(byName).toMatchObject({ status: "provisioned" });
    expect(
      await failureOf(() => register(test.provers, owner, { source: { "a.circom": main, "b.circom": template } })),
    ).toMatchObject({ code: "source_invalid", details: [{ path: "main" }] });
    const { proof, public_signals } = await prove(byRule.id, { x: "9" });
    expect(public_signals).toEqual(["81"]);
    expect(await verify(byRule.id, proof, { y: "81" })).toBe(true);
  });

  it.each([
    "/main.circom",
    "/etc/passwd",
    "../main.circom",
    "a/../main.circom",
    "a\\b.circom",
    "a\0.circom",
    "",
    `${"x".repeat(200)}.circom`,
    ".",
    "./a.circom",
    "a//b.circom",
    "a/",
    "a.txt",
    "__proto__",
    "main.circom/b.circom",
  ])("refuses the source path %j at once, before anything is stored", async (path) => {
    const source = Object.fromEntries([
      ["main.circom", "x"],
      [path, "x"],
    ]);
    const { total } = test.provers.list(owner, PAGE);
    expect(await failureOf(() => register(test.provers, owner, { source }))).toMatchObject({
      code: "source_invalid",
      status: 422,
      details: [{ path: "source" }],
    });
    expect(test.provers.list(owner, PAGE).total).toBe(total);
  });

  it("takes as many bytes and files of source as the settings say", async () => {
    const small = await openTestRegistry({ idle: true, source: { bytesMax: 1000, filesMax: 3 } });
    const who = subject();
    const files = (count: number, bytes: number): Record<string, string> =>
      Object.fromEntries(
        Array.from({ length: count }, (_, i) => [`${i === 0 ? "main" : `f${String(i)}`}.circom`, "/".repeat(bytes)]),
      );
    expect(await register(small.provers, who, { source: files(2, 500) })).toMatchObject({ status: "init" });
    for (const source of ["/".repeat(1001), files(2, 501), files(4, 10)])
      expect(await failureOf(() => register(small.provers, who, { source }))).toMatchObject({ code: "source_invalid" });
    await small.close();
  });

  it("writes nothing when it refuses", async () => {
    const stranger = subject();
    await failureOf(() => register(test.provers, stranger, { note_store_id: newId() }));
    await failureOf(() => register(test.provers, stranger, { curve: "BLS12_377" }));
    expect(test.provers.list(stranger, PAGE).total).toBe(0);
    expect(test.vault.vault.listVaults(stranger, PAGE).total).toBe(0);
  });

  it("bounds the provers of one owner, and of all, that wait", async () => {
    const idle = await openTestRegistry({ idle: true, pendingPerOwnerMax: 2, pendingMax: 3 });
    const [one, other] = [subject(), subject()];
    await register(idle.provers, one);
    await register(idle.provers, one);
    expect(await failureOf(() => register(idle.provers, one))).toMatchObject({
      code: "too_many_requests",
      status: 429,
      retryAfterSec: 10,
    });
    await register(idle.provers, other);
    expect(await failureOf(() => register(idle.provers, subject()))).toMatchObject({ code: "overloaded", status: 503 });
    await idle.close();
  });

  it("does not wait longer than it is told, nor for a caller that has gone", async () => {
    const idle = await openTestRegistry({ idle: true });
    expect(await idle.provers.create(subject(), CUBIC, { waitSec: 0.01, signal: never })).toMatchObject({
      status: "init",
    });
    expect(await idle.provers.create(subject(), CUBIC, { waitSec: 3600, signal: AbortSignal.abort() })).toMatchObject({
      status: "init",
    });
    await idle.close();
  });
});

describe("lists", () => {
  it("are the owner's, oldest first, paged, with a total over all pages", async () => {
    const mine = subject();
    const made: Prover[] = [];
    for (let index = 0; index < 5; index += 1) made.push(await register(test.provers, mine, { name: `p${index}` }));
    // Two of the same millisecond stand in the order of their ids.
    const ids = made
      .sort((a, b) => `${a.created_at}${a.id}`.localeCompare(`${b.created_at}${b.id}`))
      .map(({ id }) => id);
    const pages = [1, 2, 3].map((page) => test.provers.list(mine, { page, rpp: 2 }));
    expect(pages.map(({ total }) => total)).toEqual([5, 5, 5]);
    expect(pages.flatMap(({ body }) => body.map(({ id }) => id))).toEqual(ids);
    expect(test.provers.list(subject(), PAGE)).toEqual({ body: [], total: 0 });
    for (const id of ids) await test.provers.delete(mine, id);
  });

  it("filter by equality, in any spelling that create takes", () => {
    const count = (filters: object): number => test.provers.list(owner, { ...PAGE, ...filters }).total;
    const all = count({});
    expect(count({ name: "Cubic one" })).toBe(1);
    expect(count({ name: "cubic one" })).toBe(0);
    expect(count({ curve: "bn128", provider: "gnark", proving_scheme: "GROTH16" })).toBe(all);
    expect(count({ identifier: "CUBIC", status: "provisioned" })).toBe(1);
    expect(count({ status: "failed" })).toBe(0);
    expect(count({ status: "nonsense" })).toBe(0);
  });

  it("say what is on the wire and nothing of how it is built", () => {
    expect(Object.keys(test.provers.get(owner, cubic.id)).sort()).toEqual(
      [
        "analysis",
        "compiler",
        "created_at",
        "curve",
        "description",
        "errors",
        "estimated_ms",
        "id",
        "identifier",
        "meta",
        "name",
        "note_store_id",
        "nullifier",
        "nullifier_store_id",
        "options",
        "pending_tags",
        "proving_key_id",
        "proving_scheme",
        "provider",
        "setup",
        "source_hash",
        "status",
        "strict",
        "tags",
        "trusted_setup",
        "updated_at",
        "vault_id",
        "verifying_key_id",
        "warnings",
      ].sort(),
    );
  });
});

describe("proving and verifying", () => {
  it("makes proofs that verify, and records them", async () => {
    const made = await prove(cubic.id);
    expect(made).toMatchObject({
      prover_id: cubic.id,
      public_signals: ["35"],
      bytes: 128,
      origin: "prove",
      hash: hashProof(made.proof),
    });
    expect(made.proof).toMatch(/^[0-9a-f]{256}$/);
    expect(await verify(cubic.id, made.proof)).toBe(true);
    expect(await verify(cubic.id, `0x${made.proof}`, { X: "ignored", Y: "0x23" })).toBe(true);
    const { proof: _proof, ...record } = made;
    expect(test.provers.getProof(owner, cubic.id, made.id)).toEqual(record);
    expect(test.provers.listProofs(owner, cubic.id, PAGE).body.map(({ id }) => id)).toContain(made.id);
  });

  it("adds the forms of snarkjs and Solidity on demand", async () => {
    const snarkjs = await prove(cubic.id, INPUTS, "snarkjs");
    expect(snarkjs.snarkjs!.public_signals).toEqual(["35"]);
    expect(await verify(cubic.id, snarkjs.snarkjs!.proof)).toBe(true);
    const solidity = await prove(cubic.id, INPUTS, "solidity");
    expect(solidity.solidity!.input).toEqual([`0x${"23".padStart(64, "0")}`]);
    expect(solidity.snarkjs).toBeUndefined();
  });

  it("answers false for a proof of something else", async () => {
    const { proof } = await prove(cubic.id);
    expect(await verify(cubic.id, proof, { Y: "36" })).toBe(false);
    const other = await provision(test.provers, owner, { fresh_setup: true });
    expect(await verify(other.id, proof)).toBe(false);
  });

  it("tells malformed proofs and inputs apart from wrong ones", async () => {
    const { proof } = await prove(cubic.id);
    for (const bad of ["", "zz", proof.slice(2), `${proof}00`, "ff".repeat(128), {}, { pi_a: ["1", "2", "1"] }]) {
      expect(await failureOf(() => verify(cubic.id, bad)), JSON.stringify(bad)).toMatchObject({
        code: "proof_malformed",
        status: 422,
      });
    }
    expect(await failureOf(() => verify(cubic.id, undefined))).toMatchObject({
      code: "proof_malformed",
      message: "proof required for verification",
    });
    expect(
      await failureOf(() =>
        test.provers.verify(principalOf(owner), cubic.id, {
          item: itemOf(proof, undefined),
          store: false,
          signal: never,
        }),
      ),
    ).toMatchObject({ code: "witness_missing" });
    expect(await failureOf(() => verify(cubic.id, proof, {}))).toMatchObject({ code: "witness_invalid" });
    expect(await failureOf(() => verify(cubic.id, proof, { Y: "-1" }))).toMatchObject({ code: "witness_invalid" });
  });

  it("wants a witness, complete, known, in the field, and satisfying", async () => {
    const codes: [unknown, string, string?][] = [
      [undefined, "witness_missing", "witness"],
      ["X=3", "witness_invalid"],
      [{ X: "3" }, "witness_invalid", "Y"],
      [{ ...INPUTS, Z: "1" }, "witness_invalid", "Z"],
      [
        { X: "3", Y: "21888242871839275222246405745257275088548364400416034343698204186575808495617" },
        "witness_invalid",
        "Y",
      ],
      [{ X: "three", Y: "35" }, "witness_invalid", "X"],
      [{ X: ["3"], Y: "35" }, "witness_invalid", "X"],
      [{ X: "3", Y: "36" }, "constraints_unsatisfied"],
    ];
    const { total } = test.provers.listProofs(owner, cubic.id, PAGE);
    for (const [inputs, code, path] of codes) {
      const failure = await failureOf(() => test.provers.prove(owner, cubic.id, { inputs, signal: never }));
      expect(failure, JSON.stringify(inputs)).toMatchObject({ code, status: 422 });
      if (path !== undefined)
        expect(
          failure.details.map((detail) => detail.path),
          JSON.stringify(inputs),
        ).toContain(path);
    }
    expect(test.provers.listProofs(owner, cubic.id, PAGE).total).toBe(total);
  });

  it("says which status a prover has that is not provisioned", async () => {
    const idle = await openTestRegistry({ idle: true });
    const who = subject();
    const { id } = await register(idle.provers, who);
    const failure = await failureOf(() => idle.provers.prove(who, id, { inputs: INPUTS, signal: never }));
    expect(failure).toMatchObject({ code: "prover_not_provisioned", status: 409 });
    expect(failure.message).toContain("init");
    await idle.close();
  });
});

describe("notes", () => {
  it("are kept with each proof, encrypted, and open for their owner", async () => {
    const prover = await provision(test.provers, owner);
    const made = await prove(prover.id);
    const note = await test.provers.note(owner, prover.id, 0);
    expect(note).toMatchObject({ index: 0, size: 1 });
    expect(JSON.parse(Buffer.from(note.value, "base64").toString("utf8"))).toEqual({
      prover_id: prover.id,
      proof: made.proof,
      public_signals: ["35"],
    });
    expect(await failureOf(() => test.provers.note(owner, prover.id, 1))).toMatchObject({ code: "not_found" });
    const stored = JSON.stringify(test.store.range(["note"]));
    expect(stored).not.toContain(made.proof);
  });

  it("lose nothing when proofs arrive together", async () => {
    const prover = await provision(test.provers, owner);
    const made = await Promise.all(Array.from({ length: 8 }, () => prove(prover.id)));
    expect(made.map(({ note_index }) => note_index).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(test.provers.listProofs(owner, prover.id, PAGE).total).toBe(8);
    for (const { note_index, proof } of made) {
      const { value } = await test.provers.note(owner, prover.id, note_index);
      expect(JSON.parse(Buffer.from(value, "base64").toString("utf8"))).toMatchObject({ proof });
    }
  });

  it("are kept by verify only on demand, only for a valid proof, and only with the permission", async () => {
    const prover = await provision(test.provers, owner);
    const { proof } = await prove(prover.id);
    const size = async (): Promise<number> => (await test.provers.note(owner, prover.id, 0)).size;
    await verify(prover.id, proof);
    await verify(prover.id, proof, { Y: "36" }, true);
    expect(await size()).toBe(1);
    const reader = principalOf(owner, PERMISSIONS.authenticate | PERMISSIONS.read);
    expect(
      await failureOf(() =>
        test.provers.verify(reader, prover.id, { item: itemOf(proof, { Y: "35" }), store: true, signal: never }),
      ),
    ).toMatchObject({ code: "forbidden", status: 403 });
    expect(await verify(prover.id, proof, { Y: "35" }, true)).toBe(true);
    expect(await size()).toBe(2);
    expect(test.provers.listProofs(owner, prover.id, PAGE).body.map(({ origin }) => origin)).toEqual([
      "prove",
      "verify",
    ]);
  });

  it("of one statement share its name, however often the proof is re-randomised", async () => {
    const prover = await provision(test.provers, owner);
    const [one, two] = [await prove(prover.id), await prove(prover.id)];
    expect(one.hash).not.toBe(two.hash);
    expect(one.statement_hash).toBe(two.statement_hash);
    const other = await provision(test.provers, owner);
    expect((await prove(other.id)).statement_hash).not.toBe(one.statement_hash);
  });

  it("may be shared by provers of one owner", async () => {
    const first = await provision(test.provers, owner);
    const second = await provision(test.provers, owner, { note_store_id: first.note_store_id });
    expect(second.note_store_id).toBe(first.note_store_id);
    await prove(first.id);
    expect((await prove(second.id)).note_index).toBe(1);
    const seen = JSON.parse(
      Buffer.from((await test.provers.note(owner, first.id, 1)).value, "base64").toString("utf8"),
    ) as object;
    expect(seen).toMatchObject({ prover_id: second.id });
    await test.provers.delete(owner, first.id);
    expect(await test.provers.note(owner, second.id, 1)).toMatchObject({ size: 2 });
    expect(await failureOf(() => test.provers.note(owner, second.id, 0))).toMatchObject({
      code: "not_found",
      message: "the key that opens this note was deleted",
    });
  });
});

describe("answers", () => {
  it("have the form that their routes declare", async () => {
    const { handlers } = test.registry;
    const common = {
      principal: principalOf(owner),
      signal: never,
      requestId: "r",
      address: "127.0.0.1",
      preferWaitSec: 0,
      bearer: undefined,
    };
    const made = await prove(cubic.id);
    const id = { id: cubic.id };
    const replies = {
      listProvers: handlers.listProvers({ ...common, params: {}, query: PAGE, body: undefined }),
      createProver: await handlers.createProver({ ...common, params: {}, query: {}, body: { ...CUBIC } }),
      getProver: handlers.getProver({ ...common, params: id, query: {}, body: undefined }),
      getProverStatus: handlers.getProverStatus({ ...common, params: id, query: {}, body: undefined }),
      prove: await handlers.prove({ ...common, params: id, query: { format: "snarkjs" }, body: { witness: INPUTS } }),
      verify: await handlers.verify({
        ...common,
        params: id,
        query: {},
        body: { witness: { Y: "35" }, proof: made.proof },
      }),
      listProofs: handlers.listProofs({ ...common, params: id, query: PAGE, body: undefined }),
      getProof: handlers.getProof({ ...common, params: { ...id, proof_id: made.id }, query: {}, body: undefined }),
      getNote: await handlers.getNote({ ...common, params: { ...id, index: "0" }, query: {}, body: undefined }),
    };
    for (const [name, answer] of Object.entries(replies)) {
      const { status, body } = (await answer) as { status: number; body: unknown };
      const responses = proverRoutes[name as keyof typeof replies].responses as Readonly<
        Record<number, { schema: TSchema }>
      >;
      expect([...Value.Errors(responses[status]!.schema, body)], name).toEqual([]);
    }
  });

  it("say where what was made can be found", async () => {
    const { handlers } = test.registry;
    const common = {
      principal: principalOf(owner),
      signal: never,
      requestId: "r",
      address: "127.0.0.1",
      preferWaitSec: 0,
      bearer: undefined,
    };
    const created = await handlers.createProver({ ...common, params: {}, query: {}, body: { ...CUBIC } });
    expect(created.headers).toEqual({ Location: `/api/v1/provers/${created.body.id}` });
    const made = await handlers.prove({ ...common, params: { id: cubic.id }, query: {}, body: { witness: INPUTS } });
    expect(made.headers).toEqual({ Location: `/api/v1/provers/${cubic.id}/proofs/${made.body.id}` });
  });
});

describe("other tenants", () => {
  it("do not find a prover, its proofs, files or notes by any call", async () => {
    const { id: proofId } = await prove(cubic.id);
    for (const stranger of [
      subject(),
      subject("application"),
      subject("organization"),
      { kind: "organization" as const, id: owner.id },
    ]) {
      const calls: (() => unknown)[] = [
        () => test.provers.get(stranger, cubic.id),
        () => test.provers.progress(stranger, cubic.id),
        () => test.provers.delete(stranger, cubic.id),
        () => test.provers.prove(stranger, cubic.id, { inputs: INPUTS, signal: never }),
        () =>
          test.provers.verify(principalOf(stranger), cubic.id, {
            item: { witness: { Y: "35" }, proof: "00" },
            store: false,
            signal: never,
          }),
        () => test.provers.artifact(stranger, cubic.id, "verifying_key.json"),
        () => test.provers.listProofs(stranger, cubic.id, PAGE),
        () => test.provers.getProof(stranger, cubic.id, proofId),
        () => test.provers.note(stranger, cubic.id, 0),
      ];
      for (const call of calls)
        expect(await failureOf(call), String(call)).toMatchObject({ code: "not_found", status: 404 });
      expect(
        await failureOf(() => register(test.provers, stranger, { note_store_id: cubic.note_store_id })),
      ).toMatchObject({ code: "store_unsuitable" });
    }
    const mine = await provision(test.provers, subject());
    expect(await failureOf(() => test.provers.getProof(owner, mine.id, proofId))).toMatchObject({ code: "not_found" });
  });
});

describe("artifacts", () => {
  it("are handed out with their hash and type, and by known names only", async () => {
    for (const [name, type] of [
      ["verifying_key.json", "application/json"],
      ["proving_key", "application/octet-stream"],
      ["proving_key.zkey", "application/octet-stream"],
      ["circuit.wasm", "application/wasm"],
      ["circuit.r1cs", "application/octet-stream"],
      ["circuit.sym", "text/plain; charset=UTF-8"],
      ["interface.json", "application/json"],
      ["verifier.sol", "text/plain; charset=UTF-8"],
      ["verifier_caller.sol", "text/plain; charset=UTF-8"],
      ["source.json", "application/json"],
    ] as const) {
      const file = await test.provers.artifact(owner, cubic.id, name);
      expect(file, name).toMatchObject({ contentType: type });
      expect(readFileSync(file.path).length, name).toBe(file.bytes);
    }
    for (const name of ["reference_string", "toString", "__proto__", "x"])
      expect(await failureOf(() => test.provers.artifact(owner, cubic.id, name)), name).toMatchObject({
        code: "not_found",
      });
  });

  it("are noticed when they are swapped or changed", async () => {
    const fresh = { fresh_setup: true };
    const [victim, donor] = [await provision(test.provers, owner, fresh), await provision(test.provers, owner, fresh)];
    const [own, foreign] = await Promise.all(
      [victim, donor].map(({ id }) => test.provers.artifact(owner, id, "proving_key")),
    );
    writeFileSync(own!.path, readFileSync(foreign!.path));
    expect(await failureOf(() => prove(victim.id))).toMatchObject({ code: "artifact_corrupt", status: 500 });
    expect(await failureOf(() => test.provers.artifact(owner, victim.id, "proving_key"))).toMatchObject({
      code: "artifact_corrupt",
    });
    const key = await test.provers.artifact(owner, donor.id, "verifying_key.json");
    appendFileSync(key.path, " ");
    expect(await failureOf(() => verify(donor.id, "00".repeat(128)))).toMatchObject({ code: "artifact_corrupt" });
  });

  it("must be the ones that the vault vouches for, whatever the store says", async () => {
    const fresh = { fresh_setup: true };
    const [victim, donor] = [await provision(test.provers, owner, fresh), await provision(test.provers, owner, fresh)];
    const key = ["prover", owner.kind, owner.id];
    type Stored = { build: { artifacts: Record<string, never> } };
    const [own, foreign] = [test.store.get<Stored>([...key, victim.id])!, test.store.get<Stored>([...key, donor.id])!];
    const swapped = {
      ...own.value,
      build: {
        ...own.value.build,
        artifacts: {
          ...own.value.build.artifacts,
          "verifying_key.json": foreign.value.build.artifacts["verifying_key.json"],
        },
      },
    };
    await test.store.commit({ puts: [{ key: own.key, value: swapped }] });
    expect(await failureOf(() => verify(victim.id, "00".repeat(128)))).toMatchObject({ code: "artifact_corrupt" });
  });

  it("cannot be used when the secrets that pin them were deleted", async () => {
    const prover = await provision(test.provers, owner);
    await test.vault.vault.deleteSecret(owner, prover.vault_id, prover.proving_key_id!);
    expect(await failureOf(() => prove(prover.id))).toMatchObject({ code: "prover_keys_missing", status: 409 });
  });
});

/** Ceremonies over HTTP: from the first key over contributors with snarkjs and with our kernels to a prover that proves. */
import { generateKeyPairSync, sign } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readTranscriptDocument } from "../../../src/engine/groth16/ceremony/transcript-document.js";
import { verifyCeremony } from "../../../src/engine/groth16/ceremony/verify-ceremony.js";
import { rangeOfBytes } from "../../../src/engine/powers-of-tau/range-file.js";
import { NodesInMemory } from "../../support/nodes-in-memory.js";
import { never, principalOf } from "../support.js";
import {
  BEACON_BODY,
  CeremonyGround,
  OWNER,
  contributeByOurs,
  contributeBySnarkjs,
  verifyBySnarkjs,
} from "./support.js";

let ground: CeremonyGround;

beforeAll(async () => {
  ground = await CeremonyGround.open();
});
afterAll(async () => {
  await ground.close();
});

const end = async (id: string) => await ground.own("POST", `${id}/ceremony/beacon`, BEACON_BODY);

async function proves(id: string): Promise<boolean> {
  const { provers } = ground.registry;
  const { proof } = await provers.prove(OWNER, id, { inputs: { X: "3", Y: "35" }, signal: never });
  const item = { proof, witness: { Y: "35" } };
  return await provers.verify(principalOf(OWNER), id, { item, store: false, signal: never });
}

describe("a ceremony", () => {
  it("makes the keys of a prover, which snarkjs and the transcript's reader verify", async () => {
    const id = await ground.begin({ minimum: 3 });
    const waiting = ground.registry.provers;
    expect(waiting.get(OWNER, id)).toMatchObject({ status: "running_setup", trusted_setup: "ceremony" });
    expect(waiting.progress(OWNER, id).finished).toBe(false);
    await ground.contribute(id, "Grace", contributeBySnarkjs);
    expect((await end(id)).body.errors?.[0]?.code).toBe("ceremony_unfinished");
    const ada = await ground.contribute(id, "Ada", contributeByOurs);
    await ground.restart();
    await ground.contribute(id, "Emmy", contributeBySnarkjs);

    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const public_key = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("hex");
    const signature = sign(null, Buffer.from(ada.statement_text), privateKey).toString("hex");
    const path = `/ceremonies/${id}/contributions/2/statement`;
    const statement = { kind: "ed25519", public_key, signature };
    const wrong = { ...statement, signature: sign(null, Buffer.from("other"), privateKey).toString("hex") };
    const send = async (body: object): Promise<number> =>
      (await ground.call("POST", path, { body, token: ada.token })).status;
    expect([await send(wrong), await send(statement), await send(statement)]).toEqual([422, 200, 409]);

    expect((await end(id)).status).toBe(202);
    await ground.until(id, "ended");
    expect(await proves(id)).toBe(true);
    const seen = await ground.see(id);
    expect(seen.contributions.map(({ name, kind }) => [name, kind])).toEqual([
      ["Grace", "contribution"],
      ["Ada", "contribution"],
      ["Emmy", "contribution"],
      ["drand round 1000", "beacon"],
    ]);
    const [r1cs, key, initialKey, transcript] = await Promise.all(
      ["circuit.r1cs", "proving_key.zkey", "initial_key.zkey", "ceremony-transcript.json"].map(
        async (name) => await ground.file(id, `files/${name}`),
      ),
    );
    expect(await verifyBySnarkjs({ r1cs: r1cs!, powers: ground.powers, key: key! })).toBe(true);
    const document = readTranscriptDocument(Buffer.from(transcript!).toString("utf8"));
    const findings = await verifyCeremony(document, {
      ...{ zkey: rangeOfBytes(key!), initialKey: rangeOfBytes(initialKey!), r1cs: rangeOfBytes(r1cs!) },
      powersOfTau: rangeOfBytes(ground.powers),
    });
    expect(findings.filter(({ verdict }) => verdict !== "holds")).toEqual([]);
    expect(findings.find(({ check }) => check === "beacon")?.message).toContain("quicknet signed as round 1000");
    expect(document.contributions.map(({ statement: own }) => own?.kind ?? null)).toEqual([
      null,
      "ed25519",
      null,
      null,
    ]);
    expect((await ground.registry.provers.artifacts(OWNER, id)).map(({ name }) => name)).toContain(
      "ceremony-transcript.json",
    );
  });

  it("is seen by its owner and, where it is not open, by those who were invited", async () => {
    const id = await ground.begin({ open: false });
    expect((await ground.call("GET", `/ceremonies/${id}`)).status).toBe(404);
    expect((await ground.call("POST", `/ceremonies/${id}/join`, { body: { name: "Eve" } })).status).toBe(404);
    const invited = await ground.own<{ id: string; token: string }>("POST", `${id}/ceremony/invitations`, {
      name: "Grace",
    });
    const body = { name: "Grace", invitation: invited.body.token };
    const joined = await ground.call<{ token: string }>("POST", `/ceremonies/${id}/join`, { body });
    expect(joined.status).toBe(201);
    expect((await ground.see(id, joined.body.token)).you).toMatchObject({ name: "Grace", state: "offered" });
    const again = await ground.call("POST", `/ceremonies/${id}/join`, { body });
    expect(again).toMatchObject({ status: 422, body: { errors: [{ code: "invitation_invalid" }] } });
    const list = await ground.own<unknown[]>("GET", `${id}/ceremony/invitations`);
    expect(list.body).toMatchObject([{ name: "Grace", used: true }]);
    expect(JSON.stringify(list.body)).not.toContain(invited.body.token);
    const removed = await ground.own("DELETE", `${id}/ceremony/invitations/${invited.body.id}`);
    expect([removed.status, (await ground.own("GET", `${id}/ceremony`)).body.lease?.name]).toEqual([204, "Grace"]);
    const other = await ground.begin();
    expect(
      (await ground.call("GET", `/ceremonies/${id}`, { token: (await ground.join(other, "Eve")).token })).status,
    ).toBe(404);
  });

  it("limits open joins of one address", async () => {
    const id = await ground.begin();
    const statuses: number[] = [];
    for (let i = 0; i < 12; i += 1)
      statuses.push((await ground.call("POST", `/ceremonies/${id}/join`, { body: { name: `n${String(i)}` } })).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 201), 429, 429]);
    ground.clock.advanceSec(3_601);
    expect((await ground.call("POST", `/ceremonies/${id}/join`, { body: { name: "later" } })).status).toBe(201);
  });

  it("limits them to a node's share where another node takes requests as well", async () => {
    const shared = await CeremonyGround.open({ nodes: new NodesInMemory().node("one").nodes });
    try {
      const id = await shared.begin();
      const statuses: number[] = [];
      for (let i = 0; i < 6; i += 1)
        statuses.push(
          (await shared.call("POST", `/ceremonies/${id}/join`, { body: { name: `n${String(i)}` } })).status,
        );
      expect(statuses).toEqual([201, 201, 201, 201, 201, 429]);
    } finally {
      await shared.close();
    }
  });

  it("is refused without what it needs", async () => {
    const send = async (body: object): Promise<[number, string | undefined]> => {
      const { status, body: answer } = await ground.own("POST", "", body);
      return [status, answer.errors?.[0]?.code];
    };
    const cubic = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", setup: "ceremony" };
    const beacon = { source: "manual", description: "the closing price" };
    expect(await send(cubic)).toEqual([422, "invalid_request"]);
    expect(await send({ ...cubic, ceremony: { beacon: { source: "drand" } } })).toEqual([422, "invalid_request"]);
    const drand = { source: "drand", round: 1234 };
    expect(await send({ ...cubic, ceremony: { beacon: drand } })).toEqual([422, "invalid_request"]);
    expect(await send({ ...cubic, setup: null, ceremony: { beacon } })).toEqual([422, "invalid_request"]);
    expect(await send({ ...cubic, curve: "BLS12_381", ceremony: { beacon } })).toEqual([422, "prover_unsupported"]);
    expect(await send({ ...cubic, proving_scheme: "plonk", ceremony: { beacon } })).toEqual([
      422,
      "prover_unsupported",
    ]);
    const late = { beacon, deadline: "2020-01-01T00:00:00.000Z" };
    expect(await send({ ...cubic, ceremony: late })).toEqual([422, "invalid_request"]);
  });

  it("fails its prover when it is given up, or too few came in time", async () => {
    const id = await ground.begin();
    expect((await ground.own("POST", `${id}/ceremony/cancel`)).body.state).toBe("cancelled");
    expect(ground.registry.provers.get(OWNER, id)).toMatchObject({
      status: "failed",
      errors: [{ code: "ceremony_cancelled" }],
    });
    const deadline = new Date(ground.clock.ms + 60_000).toISOString();
    const late = await ground.begin({ minimum: 2, deadline });
    await ground.contribute(late, "Grace");
    ground.clock.advanceSec(61);
    const { status, body } = await ground.call("POST", `/ceremonies/${late}/join`, { body: { name: "Ada" } });
    expect([status, body.errors?.[0]?.code]).toEqual([409, "ceremony_closed"]);
    await ground.registry.registry.ceremonies.sweep();
    expect(ground.registry.provers.get(OWNER, late).errors[0]).toMatchObject({
      code: "ceremony_expired",
      message: "only 1 of 2 contributions came before the deadline",
    });
  });

  it("may get a later deadline, and ends with its beacon after it", async () => {
    const deadline = new Date(ground.clock.ms + 60_000).toISOString();
    const id = await ground.begin({ deadline });
    const put = async (ms: number): Promise<number> =>
      (await ground.own("PUT", `${id}/ceremony`, { deadline: new Date(ground.clock.ms + ms).toISOString() })).status;
    expect([await put(30_000), await put(120_000)]).toEqual([422, 200]);
    ground.clock.advanceSec(90);
    await ground.contribute(id, "Grace");
    ground.clock.advanceSec(60);
    await ground.registry.registry.ceremonies.sweep();
    expect((await ground.own("GET", `${id}/ceremony`)).body).toMatchObject({ state: "open", accepts: false });
    const refusal = async (body: object): Promise<[number, string | undefined]> => {
      const { status, body: answer } = await ground.own("POST", `${id}/ceremony/beacon`, body);
      return [status, answer.errors?.[0]?.code];
    };
    const { value, signature } = BEACON_BODY;
    expect(await refusal({ value: "00".repeat(31) })).toEqual([422, "invalid_request"]);
    expect(await refusal({ value })).toEqual([422, "beacon_invalid"]);
    expect(await refusal({ value: "00".repeat(32), signature })).toEqual([422, "beacon_invalid"]);
    // Quicknet's of another round (657413).
    const other = "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56e91a6b85b89cd97b";
    const own = "fc1873a13f3545aeade8401532ef5519920652eee6b0d2b19ca12643b87b3587";
    expect(await refusal({ value: own, signature: other })).toEqual([422, "beacon_invalid"]);
    expect((await end(id)).status).toBe(202);
    await ground.until(id, "ended");
    expect(await proves(id)).toBe(true);
  });

  it("leaves nothing behind when its prover is deleted", async () => {
    const id = await ground.begin();
    await ground.contribute(id, "Grace");
    // Of the same circuit and powers of tau, the first key is another ceremony's as well.
    const { key } = (await ground.own("GET", `${id}/ceremony`)).body;
    await ground.registry.provers.delete(OWNER, id);
    expect((await ground.call("GET", `/ceremonies/${id}`)).status).toBe(404);
    const { artifacts, store } = ground.registry;
    expect(artifacts.has(key!.sha256)).toBe(false);
    expect(
      ["ceremony", "ceremony_contribution", "ceremony_participant", "ceremony_token"].flatMap((table) =>
        store.range([table, OWNER.kind, OWNER.id, id]),
      ),
    ).toEqual([]);
  });
});

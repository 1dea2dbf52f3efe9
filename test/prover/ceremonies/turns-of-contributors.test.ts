/** Whose turn it is: queue, offers, leases that end, uploads in parts and two at once, restarts. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CeremonyGround, contributeByOurs, type Participant } from "./support.js";

let ground: CeremonyGround;

beforeAll(async () => {
  ground = await CeremonyGround.open();
});
afterAll(async () => {
  await ground.close();
});

const standing = async (id: string, { token }: Participant) => (await ground.see(id, token)).you;
const sweep = async (): Promise<void> => await ground.registry.registry.ceremonies.sweep();

describe("the turns of a ceremony", () => {
  it("go through the queue, past those who do not come, and out after three times", async () => {
    const id = await ground.begin({ lease_seconds: 600 });
    const [grace, ada] = [await ground.join(id, "Grace"), await ground.join(id, "Ada")];
    expect(await standing(id, grace)).toMatchObject({ state: "offered", position: 1 });
    expect(await standing(id, ada)).toMatchObject({ state: "waiting", position: 2, expires_at: null });
    expect((await ground.lease(id, ada)).body.errors?.[0]).toMatchObject({
      code: "ceremony_not_your_turn",
      message: "you are number 2 of the queue; wait for your turn",
    });
    // An offer ends after five minutes, a lease after its ten.
    ground.clock.advanceSec(301);
    await sweep();
    expect((await ground.lease(id, ada)).status).toBe(200);
    ground.clock.advanceSec(301);
    await sweep();
    expect(await standing(id, ada)).toMatchObject({ state: "leased", position: 1 });
    ground.clock.advanceSec(300);
    const late = await ground.upload(id, ada, await contributeByOurs(await ground.key(id), "Ada"));
    expect([late.status, late.body.errors?.[0]?.code]).toEqual([409, "ceremony_not_your_turn"]);
    for (let turn = 0; turn < 4; turn += 1) {
      await sweep();
      ground.clock.advanceSec(301);
    }
    await sweep();
    expect([await standing(id, grace), await standing(id, ada)]).toMatchObject([{ state: "gone" }, { state: "gone" }]);
    expect((await ground.see(id)).queue).toEqual([]);
    await ground.contribute(id, "Emmy");
  });

  it("can be renewed three times, given up, and taken away", async () => {
    const id = await ground.begin();
    const [grace, ada] = [await ground.join(id, "Grace"), await ground.join(id, "Ada")];
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await ground.lease(id, grace)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 409]);
    expect((await ground.own("POST", `${id}/ceremony/beacon`, { value: "00".repeat(32) })).status).toBe(409);
    expect((await ground.call("POST", `/ceremonies/${id}/leave`, { token: grace.token })).status).toBe(204);
    expect((await ground.lease(id, ada)).status).toBe(200);
    expect((await ground.own("DELETE", `${id}/ceremony/participants/${ada.participant_id}`)).status).toBe(204);
    expect(await standing(id, ada)).toMatchObject({ state: "gone" });
    expect((await ground.see(id)).lease).toBeNull();
  });

  it("take one of two uploads of the same lease", async () => {
    const id = await ground.begin();
    const grace = await ground.join(id, "Grace");
    await ground.lease(id, grace);
    const before = await ground.key(id);
    const keys = await Promise.all([contributeByOurs(before, "Grace"), contributeByOurs(before, "Grace")]);
    const answers = await Promise.all(keys.map(async (key) => await ground.upload(id, grace, key)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    const { key, contributions } = await ground.see(id);
    expect([key?.index, contributions.length]).toEqual([1, 1]);
    // Sent again, or by whom the turn has left: it goes on from a key that is not the present one.
    expect((await ground.upload(id, grace, keys[0])).status).toBe(409);
  });

  it("take a file in parts, say how much has come, and refuse one that is too long", async () => {
    const id = await ground.begin();
    const grace = await ground.join(id, "Grace");
    await ground.lease(id, grace);
    const key = await contributeByOurs(await ground.key(id), "Grace");
    const part = (from: number, to: number): [Uint8Array, Record<string, string>] => [
      key.subarray(from, to),
      { "content-range": `bytes ${String(from)}-${String(to - 1)}/${String(key.length)}` },
    ];
    const first = await ground.upload(id, grace, ...part(0, 1_000));
    expect(first).toMatchObject({ status: 200, body: { received: 1_000, bytes: key.length } });
    expect(await standing(id, grace)).toMatchObject({ received: 1_000 });
    expect((await ground.upload(id, grace, ...part(2_000, 3_000))).status).toBe(409);
    expect((await ground.upload(id, grace, ...part(1_000, key.length))).status).toBe(201);
    const ada = await ground.join(id, "Ada");
    await ground.lease(id, ada);
    expect((await ground.upload(id, ada, new Uint8Array(key.length + 5_000))).status).toBe(413);
  });

  it.each([
    [
      "ends",
      async () => {
        ground.clock.advanceSec(601);
        await sweep();
      },
    ],
    [
      "is taken away",
      async (id: string, { participant_id }: Participant) =>
        await ground.own("DELETE", `${id}/ceremony/participants/${participant_id}`),
    ],
  ])("pass on past an upload that its contributor has left, when the turn %s", async (_what, pass) => {
    const id = await ground.begin({ lease_seconds: 600 });
    const [grace, ada] = [await ground.join(id, "Grace"), await ground.join(id, "Ada")];
    await ground.lease(id, grace);
    const key = await contributeByOurs(await ground.key(id), "Grace");
    const range = { "content-range": `bytes 0-999/${String(key.length)}` };
    expect((await ground.upload(id, grace, key.subarray(0, 1_000), range)).status).toBe(200);
    await pass(id, grace);
    expect((await ground.lease(id, ada)).status).toBe(200);
    expect((await ground.upload(id, ada, await contributeByOurs(await ground.key(id), "Ada"))).status).toBe(201);
  });

  it("outlast a restart, between the lease and the upload", async () => {
    const id = await ground.begin();
    const grace = await ground.join(id, "Grace");
    await ground.lease(id, grace);
    const key = await contributeByOurs(await ground.key(id), "Grace");
    await ground.restart();
    expect(await standing(id, grace)).toMatchObject({ state: "leased" });
    expect((await ground.upload(id, grace, key)).status).toBe(201);
    await ground.restart();
    expect(Buffer.compare(await ground.key(id), key)).toBe(0);
  });
});

/** What happens to a ceremony at once: deletions beside checks and ends, checks that wait, and crowds that join. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CeremonyCompute } from "../../../src/prover/compute/ceremony-compute.js";
import type { ComputeOptions } from "../../../src/prover/compute/compute.js";
import { CeremonyRecords } from "../../../src/prover/ceremonies/ceremony-records.js";
import { mergeCommits } from "../../../src/platform/store/commits.js";
import { StoreConflict } from "../../../src/platform/store/store.js";
import { eventually } from "../../support/eventually.js";
import { LocalCeremonies } from "../../prover/local-ceremonies.js";
import { BEACON_BODY, CeremonyGround, OWNER, contributeByOurs } from "../../prover/ceremonies/support.js";

/** Steps wait where a test asks for it, and say who their owner is. */
class GatedCeremonies extends LocalCeremonies {
  readonly owners = new Set<string | undefined>();
  beforeCheck: () => Promise<void> = async () => {};
  beforeBeacon: (options?: ComputeOptions) => Promise<void> = async () => {};

  override async makeFirstKey(
    ...[input, options]: Parameters<CeremonyCompute["makeFirstKey"]>
  ): ReturnType<CeremonyCompute["makeFirstKey"]> {
    this.owners.add(options?.owner);
    return await super.makeFirstKey(input);
  }

  override async checkContribution(
    ...[input, options]: Parameters<CeremonyCompute["checkContribution"]>
  ): ReturnType<CeremonyCompute["checkContribution"]> {
    this.owners.add(options?.owner);
    await this.beforeCheck();
    return await super.checkContribution(input);
  }

  override async applyBeacon(
    ...[input, options]: Parameters<CeremonyCompute["applyBeacon"]>
  ): ReturnType<CeremonyCompute["applyBeacon"]> {
    this.owners.add(options?.owner);
    await this.beforeBeacon(options);
    return await super.applyBeacon(input);
  }
}

const TURN = "turn of the owner";
const MINUTE_SEC = 60;
const compute = new GatedCeremonies();
let ground: CeremonyGround;
let records: CeremonyRecords;

beforeAll(async () => {
  ground = await CeremonyGround.open({ ceremonyCompute: compute, largeBytes: 1, turnOf: () => TURN });
  records = new CeremonyRecords({ store: ground.registry.store });
});
afterAll(async () => {
  await ground.close();
});
beforeEach(() => {
  compute.beforeCheck = async () => {};
  compute.beforeBeacon = async () => {};
});

const place = (id: string) => ({ owner: OWNER, id });
const end = async (id: string) => await ground.own("POST", `${id}/ceremony/beacon`, BEACON_BODY);

interface Gate {
  /** Resolves when a step stops here. */
  readonly reached: Promise<void>;
  readonly open: () => void;
  /** Ends when the gate is opened or the step is aborted. */
  readonly wait: GatedCeremonies["beforeBeacon"];
}

function gate(): Gate {
  const [reached, opened] = [new AbortController(), new AbortController()];
  const over = new Promise((resolve) => {
    opened.signal.addEventListener("abort", resolve);
  });
  return {
    reached: new Promise((resolve) => {
      reached.signal.addEventListener("abort", () => {
        resolve();
      });
    }),
    open: () => {
      opened.abort();
    },
    wait: async ({ signal } = {}) => {
      reached.abort();
      const aborted = new Promise((resolve) => {
        signal?.addEventListener("abort", resolve);
      });
      await Promise.race([over, aborted]);
      signal?.throwIfAborted();
    },
  };
}

async function leased(id: string, name: string) {
  const participant = await ground.join(id, name);
  expect((await ground.lease(id, participant)).status).toBe(200);
  return { participant, key: await contributeByOurs(await ground.key(id), name) };
}

describe("a ceremony among others", () => {
  it("is one of four of its owner's to which files come at once", async () => {
    const ids: string[] = [];
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      const id = await ground.begin();
      ids.push(id);
      const { participant, key } = await leased(id, "Grace");
      const range = { "content-range": `bytes 0-999/${String(key.length)}` };
      statuses.push((await ground.upload(id, participant, key.subarray(0, 1_000), range)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 429]);
    for (const id of ids) await ground.registry.provers.delete(OWNER, id);
    // What was deleted takes no place.
    const id = await ground.begin();
    await ground.contribute(id, "Grace");
    await ground.registry.provers.delete(OWNER, id);
  });

  it("is deleted as it is, and not as it was before a contribution", async () => {
    const id = await ground.begin();
    const before = records.deletion(place(id));
    await ground.contribute(id, "Grace");
    await expect(ground.registry.store.commit(before)).rejects.toThrow(StoreConflict);
    const { key } = await ground.see(id);
    await ground.registry.provers.delete(OWNER, id);
    expect(ground.registry.artifacts.has(key!.sha256)).toBe(false);
  });

  it("answers not_found to an upload during whose check it is deleted, and leaves no file", async () => {
    const id = await ground.begin();
    await ground.contribute(id, "Grace");
    const { key: head } = await ground.see(id);
    const { participant, key } = await leased(id, "Ada");
    const { reached, open, wait } = gate();
    compute.beforeCheck = wait;
    const upload = ground.upload(id, participant, key);
    await reached;
    await ground.registry.provers.delete(OWNER, id);
    open();
    const { status, body } = await upload;
    expect([status, body.errors?.[0]?.code]).toEqual([404, "not_found"]);
    expect(ground.registry.artifacts.has(head!.sha256)).toBe(false);
  });

  it("keeps the lease of an upload whose check waited for others", async () => {
    const [first, second] = [await ground.begin(), await ground.begin({ lease_seconds: 600 })];
    const [grace, ada] = [await leased(first, "Grace"), await leased(second, "Ada")];
    const { reached, open, wait } = gate();
    compute.beforeCheck = wait;
    const ahead = ground.upload(first, grace.participant, grace.key);
    await reached;
    const minutesLeft = (): number =>
      (Date.parse(records.findById(second)?.value.lease?.expires_at ?? "") - ground.clock.ms) / 60_000;
    let left = 0;
    compute.beforeCheck = async () => {
      left = minutesLeft();
      await Promise.resolve();
    };
    const behind = ground.upload(second, ada.participant, ada.key);
    await eventually(() => {
      expect(minutesLeft()).toBe(15);
    });
    ground.clock.advanceSec(14 * MINUTE_SEC);
    open();
    expect([(await ahead).status, (await behind).status]).toEqual([201, 201]);
    expect(left).toBe(15);
  });

  it("does not wait for the beacons of two others, which are cancelled with their provers", async () => {
    const [first, other, second] = [await ground.begin(), await ground.begin(), await ground.begin()];
    for (const id of [first, other, second]) await ground.contribute(id, "Grace");
    for (const id of [first, other]) {
      const { reached, wait } = gate();
      compute.beforeBeacon = wait;
      await end(id);
      await reached;
    }
    compute.beforeBeacon = async () => {};
    await end(second);
    await ground.until(second, "ended");
    const { jobs } = ground.registry;
    await ground.registry.provers.delete(OWNER, other);
    const ending = () => jobs.ofSubject(["ceremony", OWNER.kind, OWNER.id, first]);
    expect(ending()).toHaveLength(1);
    await ground.registry.provers.delete(OWNER, first);
    expect(ending()).toEqual([]);
  });

  it("computes in its owner's turn, and opens in the line of large circuits where it is large", async () => {
    const id = await ground.begin();
    await ground.contribute(id, "Grace");
    await end(id);
    await ground.until(id, "ended");
    expect([...compute.owners]).toEqual([TURN]);
    expect(ground.registry.jobs.get(id)?.kind).toBe("provision_large_prover");
  });

  it("counts open joins by the network of an IPv6 address", async () => {
    const id = await ground.begin();
    const { joinCeremony } = ground.registry.registry.handlers;
    const join = async (address: string) =>
      await joinCeremony({ params: { id }, body: { name: "n" }, address } as Parameters<typeof joinCeremony>[0]);
    for (let i = 0; i < 10; i += 1) await join(`2001:db8:1:2::${String(i)}`);
    await expect(join("2001:db8:1:2:ffff::1")).rejects.toMatchObject({ code: "too_many_requests" });
    expect(await join("2001:db8:1:3::1")).toMatchObject({ status: 201 });
  });

  it("has room again where those who joined have gone, and for the invited always", async () => {
    const id = await ground.begin();
    const put = async (from: number, contributed: number | null): Promise<void> => {
      const all = Array.from({ length: 500 }, (_, i) => ({
        ...{ id: `p${String(from + i)}`, name: "n", joined_at: "", contributed, token_hash: `h${String(from + i)}` },
      }));
      await ground.registry.store.commit(
        mergeCommits(...all.map((participant) => records.insertParticipant(place(id), participant))),
      );
    };
    await put(0, 1);
    await put(500, null);
    ground.clock.advanceSec(3_601);
    expect((await ground.join(id, "Grace")).token).toBeDefined();
    expect(records.countParticipants(place(id))).toBe(501);
    expect(records.findByToken(place(id), "h999")).toBeUndefined();
    await put(1_000, 1);
    const full = await ground.call("POST", `/ceremonies/${id}/join`, { body: { name: "Eve" } });
    expect(full.body.errors?.[0]?.code).toBe("ceremony_full");
    const invited = await ground.own<{ token: string }>("POST", `${id}/ceremony/invitations`, { name: "Ada" });
    const body = { name: "Ada", invitation: invited.body.token };
    expect((await ground.call("POST", `/ceremonies/${id}/join`, { body })).status).toBe(201);
  });
});

/** Uploads that are no honest contribution: each is refused by its name, and the ceremony goes on from where it was. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import { readCeremonyKey } from "../../../src/engine/groth16/ceremony/ceremony-key.js";
import { rangeOfBytes } from "../../../src/engine/powers-of-tau/range-file.js";
import { makeFirstKey } from "../../../src/prover/compute/run-ceremony.js";
import { chainFixture, r1csFile } from "../../support/groth16-fixtures.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { CeremonyGround, beaconBySnarkjs, contributeByOurs, contributeBySnarkjs, type Participant } from "./support.js";

const POWER = 4;

let folder: string;
let ground: CeremonyGround;
let id: string;
let eve: Participant;
let initial: Uint8Array;
let present: Uint8Array;

beforeAll(async () => {
  folder = newFolder("cheats");
  ground = await CeremonyGround.open();
  id = await ground.begin();
  await ground.contribute(id, "Grace", contributeBySnarkjs);
  initial = await ground.file(id, "files/initial_key.zkey");
  present = await ground.key(id);
  eve = await ground.join(id, "Eve");
});
afterAll(async () => {
  await ground.close();
  removeFolder(folder);
});

function changed(
  key: Uint8Array,
  change: (bytes: Uint8Array, place: (name: "h" | "a" | "contributions") => number) => void,
) {
  const bytes = Uint8Array.from(key);
  const { sections } = readCeremonyKey(rangeOfBytes(bytes));
  change(bytes, (name) => sections[name].offset);
  return bytes;
}

/** A first key of other files, with a contribution. */
async function foreignKey(r1cs: Uint8Array, powers: Uint8Array): Promise<Uint8Array> {
  const path = join(folder, "powers.ptau");
  writeFileSync(path, powers);
  const made = await makeFirstKey({ r1cs, strings: [{ path, sha256: "", power: POWER }] });
  if (!made.ok) throw new Error("no key was made");
  return await contributeByOurs(Uint8Array.from(made.value.key), "Eve");
}

const CHEATS: readonly (readonly [what: string, make: () => Promise<Uint8Array> | Uint8Array, codes: string[]])[] = [
  ["the present key again", () => present, ["contribution_missing"]],
  [
    "another circuit's key",
    async () => await foreignKey(r1csFile(chainFixture(1)), ground.powers),
    ["circuit_differs"],
  ],
  [
    "the circuit's key from other powers of tau",
    async () =>
      await foreignKey(await ground.file(id, "files/circuit.r1cs"), await makePowersOfTau(POWER, { isPrepared: true })),
    ["circuit_differs"],
  ],
  [
    "a chain of one's own from the first key",
    async () => await contributeBySnarkjs(await contributeBySnarkjs(initial, "Grace"), "Eve"),
    ["history_differs"],
  ],
  [
    "two contributions at once",
    async () => await contributeByOurs(await contributeByOurs(present, "one"), "two"),
    ["contribution_extra"],
  ],
  ["a file that was cut off", async () => (await contributeByOurs(present, "Eve")).subarray(0, -10), ["not_a_key"]],
  [
    "points of H exchanged",
    async () =>
      changed(await contributeByOurs(present, "Eve"), (bytes, place) => {
        const at = place("h");
        const first = bytes.slice(at, at + 64);
        bytes.copyWithin(at, at + 64, at + 128);
        bytes.set(first, at + 64);
      }),
    ["points_inconsistent"],
  ],
  [
    "a point of A changed",
    async () =>
      changed(await contributeByOurs(present, "Eve"), (bytes, place) => {
        const at = place("a");
        bytes.set(bytes.slice(at + 64, at + 128), at);
      }),
    ["circuit_differs"],
  ],
  [
    "no proof of knowledge",
    async () =>
      changed(await contributeByOurs(present, "Eve"), (bytes, place) => {
        // The second contribution's s and s d in each other's place.
        const perContribution = readCeremonyKey(rangeOfBytes(present)).sections.contributions.size - 68;
        const at = place("contributions") + 68 + perContribution + 64;
        const s = bytes.slice(at, at + 64);
        bytes.copyWithin(at, at + 64, at + 128);
        bytes.set(s, at + 64);
      }),
    ["transcript_inconsistent", "proof_of_knowledge_invalid"],
  ],
  ["a beacon", async () => await beaconBySnarkjs(present), ["beacon_invalid"]],
];

it.each(CHEATS)("refuses %s", async (_what, make, codes) => {
  // The third refusal of a turn ends it; the queue has nobody else, until the third turn.
  if ((await ground.see(id, eve.token)).you?.state === "gone") eve = await ground.join(id, "Eve");
  expect((await ground.lease(id, eve)).status).toBe(200);
  const { status, body } = await ground.upload(id, eve, await make());
  expect(status, JSON.stringify(body)).toBe(422);
  expect(body.errors?.[0]?.code).toBe("contribution_invalid");
  expect(codes).toContain(body.errors?.[1]?.code);
  expect((await ground.see(id)).key?.index).toBe(1);
  expect(Buffer.compare(await ground.key(id), present)).toBe(0);
});

it("takes an honest contribution after them", async () => {
  await ground.own("DELETE", `${id}/ceremony/participants/${eve.participant_id}`);
  expect((await ground.contribute(id, "Ada")).index).toBe(2);
});

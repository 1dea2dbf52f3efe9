/** Where the keys of universal systems come from: the operator's folder first, and a string of its own where it may. */
import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { proverRoutes } from "../../../src/prover/routes.js";
import type { Prover } from "../../../src/prover/schemas.js";
import { BEARER, startFront } from "../../platform/http/support.js";
import { snarkjsPowersOfTau } from "../../support/powers-of-tau.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { subject } from "../../vault/support.js";
import {
  CUBIC,
  failureOf,
  never,
  openTestRegistry,
  principalOf,
  provision,
  register,
  type TestRegistry,
} from "../../prover/support.js";

const PLONK = { ...CUBIC, proving_scheme: "plonk" } as const;
const FFLONK = { ...CUBIC, proving_scheme: "fflonk" } as const;
/** The circuit `cubic` has at most 2^3 gates; FFLONK takes a string that is eight times as long. */
const [PLONK_POWER, FFLONK_POWER] = [4, 7];
const owner = subject();

let folder: string;
let test: TestRegistry | undefined;
let ofSnarkjs: Uint8Array;
let larger: Uint8Array;

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const put = (name: string, bytes: Uint8Array): void => {
  writeFileSync(join(folder, name), bytes);
};

beforeAll(async () => {
  ofSnarkjs = (await snarkjsPowersOfTau(PLONK_POWER)).prepared;
  larger = await makePowersOfTau(FFLONK_POWER, { isPrepared: true });
});
beforeEach(() => {
  folder = newFolder("ptau");
});
afterEach(async () => {
  await test?.close();
  test = undefined;
  removeFolder(folder);
});
afterAll(() => {
  removeFolder(folder);
});

async function open(options: { readonly makesOwn: boolean; readonly hasFolder?: boolean }): Promise<TestRegistry> {
  test = await openTestRegistry({
    makesDevelopmentStrings: options.makesOwn,
    ...(options.hasFolder === false ? {} : { powersFolder: folder }),
  });
  return test;
}

async function provesAndVerifies({ provers }: TestRegistry, { id }: Prover): Promise<boolean> {
  const { proof } = await provers.prove(owner, id, { inputs: { X: "3", Y: "35" }, signal: never });
  const item = { proof, public_signals: ["35"] };
  return await provers.verify(principalOf(owner), id, { item, store: false, signal: never });
}

/** Whoever reads the `setup` of a prover finds out by its hash who took part. */
async function showsCeremony({ registry }: TestRegistry): Promise<void> {
  const { server, url } = await startFront({
    routes: bindRoutes(proverRoutes, registry.handlers, registry.bodyLimits),
  });
  try {
    const get = async (hash: string): Promise<{ status: number; body: unknown }> => {
      const answer = await fetch(`${url}/api/v1/reference_strings/${hash}`, { headers: BEARER });
      return { status: answer.status, body: await answer.json() };
    };
    expect(await get(hashOf(ofSnarkjs))).toMatchObject({
      status: 200,
      body: {
        ...{ file: "small.ptau", state: "checked", power: PLONK_POWER, contributions_checked: true },
        contributions: [
          { name: "first", kind: "contribution" },
          { name: "second", kind: "contribution" },
          { name: "the beacon", kind: "beacon", response_hash: expect.stringMatching(/^[0-9a-f]{128}$/) as string },
        ],
      },
    });
    expect(await get("0".repeat(64))).toMatchObject({ status: 404, body: { errors: [{ code: "not_found" }] } });
    expect((await get("small.ptau")).status).toBe(400);
  } finally {
    await server.stop({ graceMs: 0 });
  }
}

describe("keys of a universal system", () => {
  it("follow from the smallest published string that is large enough, and prove and verify", async () => {
    put("larger.ptau", larger);
    put("small.ptau", ofSnarkjs);
    const opened = await open({ makesOwn: true });
    const plonk = await provision(opened.provers, owner, PLONK);
    expect(plonk).toMatchObject({
      ...{ status: "provisioned", trusted_setup: "universal", errors: [] },
      setup: { origin: "ceremony", sha256: hashOf(ofSnarkjs), power: PLONK_POWER },
    });
    expect(await provesAndVerifies(opened, plonk)).toBe(true);
    const fflonk = await provision(opened.provers, owner, FFLONK);
    expect(fflonk).toMatchObject({
      status: "provisioned",
      setup: { origin: "ceremony", sha256: hashOf(larger), power: FFLONK_POWER },
    });
    expect(await provesAndVerifies(opened, fflonk)).toBe(true);
    await showsCeremony(opened);
  });

  it("follow from a development string where none is large enough and one may be made", async () => {
    put("small.ptau", ofSnarkjs);
    const opened = await open({ makesOwn: true });
    expect(await provision(opened.provers, owner, FFLONK)).toMatchObject({
      status: "provisioned",
      setup: { origin: "development" },
    });
  });

  it("are not made where none is large enough and none may be made", async () => {
    put("small.ptau", ofSnarkjs);
    const opened = await open({ makesOwn: false });
    expect(await provision(opened.provers, owner, FFLONK)).toMatchObject({
      status: "failed",
      setup: null,
      errors: [
        {
          code: "reference_string_missing",
          message: expect.stringMatching(/2\^\d+ over BN254.*PROOFWRIGHT_PTAU_DIR/) as string,
        },
      ],
    });
    expect(await provision(opened.provers, owner, PLONK)).toMatchObject({ setup: { origin: "ceremony" } });
  });

  it("are refused when the prover is created, where no string can ever be had", async () => {
    const { provers } = await open({ makesOwn: false, hasFolder: false });
    for (const request of [PLONK, FFLONK])
      expect(await failureOf(() => register(provers, owner, request))).toMatchObject({
        code: "prover_unsupported",
        message: expect.stringContaining("PROOFWRIGHT_PTAU_DIR") as string,
      });
    expect(await provision(provers, owner)).toMatchObject({ status: "provisioned" });
  });
});

describe("phase 1 of a Groth16 key", () => {
  const published = { ...CUBIC, phase1: "published" } as const;

  it("comes from a published string, prepared or not, where that is asked for and not otherwise", async () => {
    put("small.ptau", ofSnarkjs);
    const opened = await open({ makesOwn: true });
    const prover = await provision(opened.provers, owner, published);
    expect(prover).toMatchObject({
      ...{ status: "provisioned", trusted_setup: "single_party", errors: [] },
      setup: { origin: "ceremony", sha256: hashOf(ofSnarkjs), power: PLONK_POWER },
    });
    expect(await provesAndVerifies(opened, prover)).toBe(true);
    const byHash = await provision(opened.provers, owner, { ...CUBIC, phase1: hashOf(ofSnarkjs) });
    expect(byHash).toMatchObject({ status: "provisioned", setup: prover.setup });
    expect(await provision(opened.provers, owner)).toMatchObject({ trusted_setup: "single_party", setup: null });
    await opened.close();
    const plain = await makePowersOfTau(PLONK_POWER, { isPrepared: false });
    rmSync(join(folder, "small.ptau"));
    put("plain.ptau", plain);
    const other = await open({ makesOwn: false });
    for (const request of [published, PLONK]) {
      const made = await provision(other.provers, owner, request);
      expect(made).toMatchObject({ status: "provisioned", setup: { sha256: hashOf(plain) } });
      expect(await provesAndVerifies(other, made)).toBe(true);
    }
  });

  it("makes the prover fail where no string is large enough, a development string too", async () => {
    put("tiny.ptau", await makePowersOfTau(1, { isPrepared: true }));
    const opened = await open({ makesOwn: true });
    await provision(opened.provers, owner, PLONK);
    expect(await provision(opened.provers, owner, published)).toMatchObject({
      status: "failed",
      errors: [{ code: "reference_string_missing" }],
    });
  });

  it("is refused when the prover is created, for other schemes, curves and strings", async () => {
    put("small.ptau", ofSnarkjs);
    const opened = await open({ makesOwn: true });
    for (const request of [
      { ...PLONK, phase1: "published" },
      { ...published, curve: "BLS12_381" },
      { ...CUBIC, phase1: "0".repeat(64) },
      { ...CUBIC, phase1: hashOf(ofSnarkjs) },
    ] as const)
      expect(await failureOf(() => register(opened.provers, owner, request))).toMatchObject({
        code: "invalid_request",
        details: [{ path: "phase1" }],
      });
    await opened.close();
    test = undefined;
    const without = await open({ makesOwn: true, hasFolder: false });
    expect(await failureOf(() => register(without.provers, owner, published))).toMatchObject({
      code: "prover_unsupported",
    });
  });
});

/** Two nodes whose folders of powers-of-tau files differ: keys are made where the file is, whoever is asked for them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makePowersOfTau } from "../../bench/full-powers-of-tau.js";
import { TestCluster } from "../support/cluster.js";
import { eventually } from "../support/eventually.js";
import { provisioned } from "../support/server.js";

/** Enough for `cubic` with PLONK, and not for 300 rounds. */
const POWER = 5;
const CUBIC = { identifier: "cubic", proving_scheme: "plonk", curve: "BN254" } as const;
const CHAIN =
  "pragma circom 2.1.0; template Chain() { signal input a; signal input b; signal output c; signal x[301]; x[0] <== a; for (var i = 0; i < 300; i++) { x[i + 1] <== x[i] * x[i] + b; } c <== x[300]; } component main { public [b] } = Chain();";
const LARGE = { source: CHAIN, proving_scheme: "groth16", curve: "BN254", phase1: "published" } as const;

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.make();
});
afterAll(async () => {
  await cluster.dispose();
});

it("makes keys on the node that has the file, and says on any that none has one", async () => {
  const [empty, full] = [cluster.folderOf("empty"), cluster.folderOf("full")];
  for (const folder of [empty, full]) mkdirSync(folder);
  writeFileSync(join(full, "five.ptau"), await makePowersOfTau(POWER, { isPrepared: true }));
  const asked = await cluster.start("asked");
  const { token } = await asked.newUser();
  const api = asked.as(token);
  // As on a single server without a folder.
  await expect(api.createProver({ body: { ...CUBIC, name: "early" } })).rejects.toMatchObject({
    code: "prover_unsupported",
  });

  const having = await cluster.startWorker("having", { PROOFWRIGHT_PTAU_DIR: full });
  const other = await cluster.startWorker("other", { PROOFWRIGHT_PTAU_DIR: empty });
  const listed = async (): Promise<unknown> =>
    (await api.listReferenceStrings()).body.map(({ file, state }) => [file, state]);
  await eventually(async () => {
    expect(await listed()).toEqual([["five.ptau", "found"]]);
  });
  const id = await provisioned(api, { ...CUBIC, name: "left to another" });
  const { body: prover } = await api.getProver({ params: { id } });
  expect(prover).toMatchObject({ status: "provisioned", setup: { origin: "ceremony", power: POWER } });
  expect(await listed()).toEqual([["five.ptau", "checked"]]);

  await having.end("SIGTERM");
  // The string is kept for all.
  const { body: again } = await api.getProver({
    params: { id: await provisioned(api, { ...CUBIC, name: "anew", fresh_setup: true }) },
  });
  expect(again.setup).toEqual(prover.setup);
  const { body: created } = await api.createProver({ body: { ...LARGE, name: "too large" } });
  await eventually(async () => {
    const { body: failed } = await api.getProver({ params: { id: created.id } });
    expect(failed).toMatchObject({ status: "failed", errors: [{ code: "reference_string_missing" }] });
  });
  for (const node of [other, asked]) await node.end("SIGTERM");
});

/** The metrics: what others keep is read at each scrape, and what cannot be read spoils nothing. */
import { describe, expect, it } from "vitest";
import { Metrics, type Figure } from "../../src/platform/metrics.js";

async function lines(metrics: Metrics, name: string): Promise<string[]> {
  return (await metrics.render()).split("\n").filter((line) => line.startsWith(name));
}

describe("the figures of others", () => {
  it("are read anew at each scrape, and a label that is gone is gone", async () => {
    let states = ["up", "down"];
    const figure: Figure = {
      kind: "gauge",
      name: "things",
      help: "things by state",
      labelNames: ["state"],
      read: () => states.map((state, index) => ({ labels: { state }, value: index + 1 })),
    };
    const metrics = new Metrics({ figures: [figure] });
    expect(await lines(metrics, "things")).toEqual(['things{state="up"} 1', 'things{state="down"} 2']);
    states = ["down"];
    expect(await lines(metrics, "things")).toEqual(['things{state="down"} 1']);
  });

  it("are not added up where they count already", async () => {
    const metrics = new Metrics({
      figures: [{ kind: "counter", name: "turns_total", help: "turns", read: () => Promise.resolve(7) }],
    });
    for (let n = 0; n < 3; n += 1) expect(await lines(metrics, "turns_total")).toEqual(["turns_total 7"]);
  });

  it("are left out while they cannot be read, and the others are told", async () => {
    const fails = (): number => {
      throw new Error("the disk is gone");
    };
    const metrics = new Metrics({
      figures: [
        { kind: "gauge", name: "broken", help: "throws", read: fails },
        { kind: "gauge", name: "rejected", help: "rejects", read: () => Promise.reject(new Error("the same")) },
        { kind: "gauge", name: "sound", help: "works", read: () => 1 },
      ],
    });
    expect([await lines(metrics, "broken"), await lines(metrics, "rejected")]).toEqual([[], []]);
    expect(await lines(metrics, "sound")).toEqual(["sound 1"]);
  });
});

describe("what is counted", () => {
  it("is each prover that ended, by outcome and scheme, with its time where that is known", async () => {
    const metrics = new Metrics({});
    metrics.proverEnded({ outcome: "provisioned", provingScheme: "groth16", seconds: 4 });
    metrics.proverEnded({ outcome: "provisioned", provingScheme: "groth16", seconds: 20 });
    metrics.proverEnded({ outcome: "failed", provingScheme: "plonk", seconds: undefined });
    expect(await lines(metrics, "proofwright_provers_total")).toEqual([
      'proofwright_provers_total{outcome="provisioned",proving_scheme="groth16"} 2',
      'proofwright_provers_total{outcome="failed",proving_scheme="plonk"} 1',
    ]);
    const seconds = await lines(metrics, "proofwright_provisioning_seconds");
    expect(seconds).toContain('proofwright_provisioning_seconds_sum{outcome="provisioned"} 24');
    expect(seconds).toContain('proofwright_provisioning_seconds_bucket{le="5",outcome="provisioned"} 1');
    expect(seconds.some((line) => line.includes("failed"))).toBe(false);
  });

  it("is each request that was throttled, and no other", async () => {
    const metrics = new Metrics({});
    const server = metrics.forServer();
    for (const status of [200, 429, 429, 503, 0]) server.requestEnded("prove", "POST", status, 0.1);
    expect(await lines(metrics, "proofwright_http_throttled_total")).toEqual([
      'proofwright_http_throttled_total{route="prove"} 2',
    ]);
  });
});

import { describe, expect, it } from "vitest";
import { pauseMs, TRIES_MAX } from "../../../src/platform/webhooks/delivery-schedule.js";
import { eventTypeOf } from "../../../src/platform/webhooks/event-types.js";
import type { StoreValue } from "../../../src/platform/store/store.js";

const ID = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";
const OTHER = "1b16996e-3595-4985-816c-043345d22f8c";

describe("types of events", () => {
  it.each<[string, StoreValue, string]>([
    ["privacy.prover.setup.pending", {}, "prover.pending"],
    ["privacy.prover.setup.complete", {}, "prover.provisioned"],
    ["privacy.prover.setup.failed", {}, "prover.failed"],
    ["privacy.prover.analysis.complete", {}, "prover.analyzed"],
    [`privacy.prover.notification.${ID}.${OTHER}.note.deposited`, {}, "proof.created"],
    [`privacy.prover.notification.${ID}.${OTHER}.note.nullified`, {}, "note.nullified"],
    ["privacy.prover.job.succeeded", {}, "job.succeeded"],
    ["privacy.prover.ceremony.contribution", {}, "ceremony.contribution"],
    ["privacy.prover.verifier.disagreement", {}, "verifier.disagreement"],
    ["privacy.prover.assurance.disagreement", {}, "assurance.disagreement"],
    [`network.${ID}.transactions.${OTHER}`, { state: "mined" }, "transaction.mined"],
    [`network.${ID}.transactions.${OTHER}`, { state: "confirmed" }, "transaction.confirmed"],
    [`network.${ID}.transactions.${OTHER}`, null, "transaction.changed"],
    [`network.${ID}.contracts.0x70997970C51812dc3A010C7d01b50e0d17dc79C8`, { removed: false }, "contract.event"],
    [`network.${ID}.contracts.0x70997970C51812dc3A010C7d01b50e0d17dc79C8`, { removed: true }, "contract.event_removed"],
    [`network.${ID}.connector.${OTHER}`, {}, "connector.status"],
    ["ident.organization.created", {}, "organization.created"],
    [`webhook.${ID}.disabled`, {}, "webhook.disabled"],
    [`something.${ID}.new`, {}, "something.new"],
  ])("of %s with %j is %s", (subject, payload, type) => {
    expect(eventTypeOf({ subjects: [subject, "other.subject"], payload })).toBe(type);
  });
});

describe("pauses between attempts", () => {
  it("grow, and end within three days", () => {
    const pauses = Array.from({ length: TRIES_MAX - 1 }, (_, index) => pauseMs(index + 1) ?? 0);
    expect(pauses.every((pause, index) => pause > (pauses[index - 1] ?? 0))).toBe(true);
    const hours = pauses.reduce((sum, pause) => sum + pause, 0) / 3_600_000;
    expect(hours).toBeGreaterThan(0.9 * 71);
    expect(hours).toBeLessThanOrEqual(72);
    expect(pauseMs(TRIES_MAX)).toBeUndefined();
  });
});

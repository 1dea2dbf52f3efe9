/** `assurance: "triple"`: the answer and the receipt name the verifiers, and a disagreement is no answer but an alarm. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeJwt } from "jose";
import type { CrossCheckMessage, CrossCheckValue, CrossVerdict, TaskResult } from "../../../src/engine/protocol.js";
import { compileSolidity } from "../../../src/engine/solidity/compile-solidity.js";
import type { AuditEvent } from "../../../src/platform/audit/audit-event.js";
import { Metrics } from "../../../src/platform/metrics.js";
import type { ProveResult, VerifyResult } from "../../../src/prover/schemas.js";
import { subject } from "../../vault/support.js";
import { LocalCompute } from "../local-compute.js";
import { failureOf, never, openTestRegistry, principalOf, provision, type TestRegistry } from "../support.js";

/** One verifier may be made to say the contrary. */
class ContraryCompute extends LocalCompute {
  contrary: CrossVerdict["checker"] | undefined;

  override async crossCheck(message: CrossCheckMessage): Promise<TaskResult<CrossCheckValue>> {
    const checked = await super.crossCheck(message);
    if (!checked.ok) return checked;
    const verdicts = checked.value.verdicts.map(({ checker, valid }) => ({
      checker,
      valid: checker === this.contrary ? !valid : valid,
    }));
    return { ok: true, value: { verdicts } };
  }
}

const owner = subject();
const INPUTS = { X: "3", Y: "35" };
const compute = new ContraryCompute();
const audited: AuditEvent[] = [];
let compiled = 0;
let test: TestRegistry;
let id: string;

beforeAll(async () => {
  test = await openTestRegistry({
    compute,
    audit: async (event) => {
      audited.push(event);
      await Promise.resolve();
    },
    compileContract: async (request) => {
      compiled += 1;
      return await Promise.resolve(compileSolidity(request));
    },
  });
  ({ id } = await provision(test.provers, owner));
});
afterAll(async () => {
  await test.close();
});

async function call<T>(route: "prove" | "verify", body: object): Promise<T> {
  const request = {
    principal: principalOf(owner),
    params: { id },
    query: {},
    body,
    signal: never,
    requestId: "request",
  };
  return (await test.registry.handlers[route](request as never)).body as T;
}

describe("assurance: triple", () => {
  it("names three verifiers in the answer and in the receipt", async () => {
    const made = await call<ProveResult>("prove", { witness: INPUTS, receipt: true, assurance: "triple" });
    expect(made.checked_by).toEqual(["proofwright", "noble", "evm"]);
    expect(decodeJwt(made.receipt ?? "")).toMatchObject({ result: true, checked_by: ["proofwright", "noble", "evm"] });
    const right = { proof: made.proof, public_signals: ["35"], assurance: "triple" };
    expect(await call("verify", right)).toEqual({ result: true, checked_by: ["proofwright", "noble", "evm"] });
    const wrong = await call<VerifyResult>("verify", { ...right, public_signals: ["36"], receipt: true });
    expect(wrong).toMatchObject({ result: false, checked_by: ["proofwright", "noble", "evm"] });
    expect(compiled).toBe(1);
  });

  it("is not for batches, and single is as none", async () => {
    const { proof } = await call<ProveResult>("prove", { witness: INPUTS, assurance: "single" });
    const batch = [{ proof, public_signals: ["35"] }];
    const refused = await failureOf(async () => await call("verify", { batch, assurance: "triple" }));
    expect([refused.code, refused.details[0]?.path]).toEqual(["invalid_request", "assurance"]);
    expect(await call("verify", { batch, assurance: "single" })).toEqual({ result: true, batch: [{ result: true }] });
  });

  it.each(["noble", "evm"] as const)(
    "answers nothing where %s disagrees, stores nothing, and tells all",
    async (checker) => {
      const { proof } = await call<ProveResult>("prove", { witness: INPUTS });
      const count = (): number => test.provers.listProofs(owner, id, { page: 1, rpp: 1 }).total;
      const before = { proofs: count(), alarms: test.registry.crossChecks.disagreements };
      compute.contrary = checker;
      try {
        const asked = { assurance: "triple", receipt: true };
        const item = { proof, public_signals: ["35"] };
        const bodies = [
          ["verify", { ...item, ...asked, store: true }],
          ["verify", { ...item, public_signals: ["36"], ...asked }],
          ["prove", { witness: INPUTS, ...asked }],
        ] as const;
        for (const [route, body] of bodies) {
          const failure = await failureOf(async () => await call(route, body));
          expect([failure.code, failure.status]).toEqual(["assurance_disagreement", 500]);
        }
      } finally {
        compute.contrary = undefined;
      }
      expect(count()).toBe(before.proofs);
      expect(test.registry.crossChecks.disagreements).toBe(before.alarms + 3);
      const metrics = new Metrics({ disagreements: () => test.registry.crossChecks.disagreements });
      expect(await metrics.render()).toContain(
        `proofwright_assurance_disagreements_total ${String(before.alarms + 3)}\n`,
      );
      expect(audited.at(-1)).toMatchObject({
        action: "assurance.disagreement",
        outcome: "refused",
        target: { id },
        detail: { proofwright: true, [checker]: false },
      });
      expect(test.log.lines.filter(({ level }) => level === "error").at(-1)).toMatchObject({
        fields: { code: "assurance_disagreement", prover_id: id, request_id: "request" },
      });
      const events = test.store.range(["events"]).map(({ value }) => JSON.stringify(value));
      expect(events.some((text) => text.includes("privacy.prover.assurance.disagreement"))).toBe(true);
    },
  );

  it("asks ffjavascript where the compiler takes no contract", async () => {
    const without = await openTestRegistry({ compute });
    try {
      const { id: other } = await provision(without.provers, owner);
      const request = {
        principal: principalOf(owner),
        params: { id: other },
        query: {},
        signal: never,
        requestId: "r",
      };
      const made = await without.registry.handlers.prove({
        ...request,
        body: { witness: INPUTS, assurance: "triple" },
      } as never);
      expect(made.body).toMatchObject({ checked_by: ["proofwright", "noble", "ffjavascript"] });
    } finally {
      await without.close();
    }
  });
});

/** Which ends of provers the metrics hear of, and how long they took. */
import { expect, it } from "vitest";
import { ProverOutcomes } from "../../src/app/prover-outcomes.js";
import type { LoggedEvent } from "../../src/platform/events/event-log.js";
import type { ProverOutcome } from "../../src/platform/metrics.js";
import { nextTurn } from "../../src/platform/concurrency/next-turn.js";

const OWNER = "user:7a4c1f2e-1111-4222-8333-000000000001";
const CREATED = "2026-05-04T10:00:00.000Z";
const ENDED = "2026-05-04T10:00:07.500Z";

/** A log of events as a list, whose listener the test calls. */
class EventList {
  readonly events: LoggedEvent[] = [];
  listener: (() => void) | undefined;

  head(): number {
    return this.events.length;
  }

  after(number: number, limit: number): LoggedEvent[] {
    return this.events.slice(number, number + limit);
  }

  onAppend(listener: () => void): () => void {
    this.listener = listener;
    return () => {
      this.listener = undefined;
    };
  }

  add(subject: string, id = "one", to: LoggedEvent["to"] = [OWNER]): void {
    const payload = { prover_id: id, proving_scheme: "groth16" };
    this.events.push({ number: this.events.length + 1, subjects: [subject], at: ENDED, to, payload });
  }
}

function watched(): { readonly list: EventList; readonly outcomes: ProverOutcomes; readonly ended: ProverOutcome[] } {
  const list = new EventList();
  const ended: ProverOutcome[] = [];
  const outcomes = new ProverOutcomes({
    events: list,
    createdAt: (_, id) => {
      if (id === "deleted") throw new Error("not found");
      return CREATED;
    },
    onEnded: (outcome) => ended.push(outcome),
  });
  return { list, outcomes, ended };
}

it("counts each end once, by outcome and time, and not what was before the start", async () => {
  const { list, outcomes, ended } = watched();
  list.add("privacy.prover.setup.complete");
  outcomes.start();
  list.add("privacy.prover.setup.pending");
  list.add("privacy.prover.setup.complete");
  list.add("privacy.prover.proof.created");
  list.listener?.();
  list.listener?.();
  list.add("privacy.prover.setup.failed", "deleted");
  list.listener?.();
  await nextTurn();
  expect(ended).toEqual([
    { outcome: "provisioned", provingScheme: "groth16", seconds: 7.5 },
    { outcome: "failed", provingScheme: "groth16", seconds: undefined },
  ]);
});

it("reads on where more is waiting than it reads in a turn, and nothing after its end", async () => {
  const { list, outcomes, ended } = watched();
  outcomes.start();
  for (let n = 0; n < 200; n += 1) list.add("privacy.prover.setup.complete");
  list.listener?.();
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  expect(ended).toHaveLength(200);
  list.add("privacy.prover.setup.complete");
  list.listener?.();
  outcomes.stop();
  await nextTurn();
  expect(ended).toHaveLength(200);
  expect(list.listener).toBeUndefined();
});

// The states of a queued transaction under random sequences of what happens to it. A failure prints the seed and path.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  acceptSend,
  addSignature,
  assignNonce,
  backOffResend,
  beginSend,
  canDiscardSignature,
  canEndRefused,
  discardSignature,
  dropFromBlock,
  endSend,
  findReceipt,
  forgetStuck,
  holdRefused,
  include,
  isRetryDue,
  isStale,
  isStuck,
  missReceipt,
  noteConflict,
  noteUnanswered,
  retrySend,
  setAttempts,
  setSendFault,
  waitingState,
  withdrawNonce,
  type QueueState,
} from "../../../../src/chain/transactions/sending/queued-transaction.js";

const RESEND_MS = 400;
const hash = (number: number): string => `0x${number.toString(16).padStart(64, "0")}`;
const FAULT = { code: "fee_too_low", message: "too low" };

type Phase = QueueState["phase"];
interface Event {
  readonly name: string;
  /** Phases in which it may happen. */
  readonly from: readonly Phase[];
  readonly apply: (state: QueueState) => QueueState;
  /** A further condition for it to happen. */
  readonly isPossible?: (state: QueueState) => boolean;
}
const ANY: readonly Phase[] = ["waiting", "signed", "sent", "included"];
const HOLDING: readonly Phase[] = ["signed", "sent", "included"];

const event = fc
  .record({ number: fc.nat(1_000), nowMs: fc.nat(100_000), isRepeated: fc.boolean() })
  .chain(({ number, nowMs, isRepeated }) =>
    fc.constantFrom<Event>(
      { name: "assignNonce", from: ["waiting"], apply: (state) => assignNonce(state, number) },
      {
        name: "withdrawNonce",
        from: ["signed"],
        apply: (state) => withdrawNonce(state, FAULT),
        isPossible: ({ hashes }) => hashes.length === 0,
      },
      {
        name: "addSignature",
        from: ["signed"],
        apply: (state) => addSignature(state, hash(number)),
        isPossible: ({ hashes }) => hashes.length === 0,
      },
      {
        name: "setAttempts",
        from: HOLDING,
        apply: (state) => setAttempts(state, [...state.hashes, hash(number)]),
      },
      {
        name: "discardSignature",
        from: ["signed"],
        apply: (state) => discardSignature(state, { resendMs: RESEND_MS }),
        isPossible: canDiscardSignature,
      },
      { name: "beginSend", from: ANY, apply: beginSend },
      { name: "endSend", from: ANY, apply: endSend },
      { name: "noteUnanswered", from: ANY, apply: noteUnanswered },
      {
        name: "acceptSend",
        from: HOLDING,
        apply: (state) => acceptSend(state, { nowMs, now: new Date(nowMs).toISOString(), isRepeated }),
      },
      { name: "retrySend", from: ANY, apply: (state) => retrySend(state, nowMs) },
      { name: "holdRefused", from: ANY, apply: (state) => holdRefused(state, FAULT, nowMs) },
      { name: "noteConflict", from: ANY, apply: (state) => noteConflict(state, nowMs) },
      { name: "setSendFault", from: ANY, apply: (state) => setSendFault(state, FAULT) },
      { name: "backOffResend", from: ANY, apply: (state) => backOffResend(state, nowMs) },
      { name: "forgetStuck", from: ANY, apply: forgetStuck },
      { name: "missReceipt", from: ANY, apply: (state) => missReceipt(state, nowMs) },
      { name: "findReceipt", from: ANY, apply: findReceipt },
      {
        name: "include",
        from: HOLDING,
        apply: (state) => include(state, { number, hash: hash(number) }),
      },
      {
        name: "dropFromBlock",
        from: ["included"],
        apply: (state) => dropFromBlock(state, { nowMs, resendMs: RESEND_MS }),
      },
    ),
  );

/** The ways from one phase to another; each phase also stays. */
const WAYS: ReadonlySet<string> = new Set([
  "waiting>signed",
  "signed>waiting",
  "signed>sent",
  "signed>included",
  "sent>included",
  "included>sent",
]);

const start = (): QueueState => waitingState({ mayBeInPool: false, resendMs: RESEND_MS });

/** Applies the events that may happen; each of the others must throw and change nothing. */
function play(events: readonly Event[], look: (before: QueueState, after: QueueState, name: string) => void): void {
  let state = start();
  for (const { name, from, apply, isPossible } of events) {
    const copy = structuredClone(state);
    if (from.includes(state.phase) && (isPossible?.(state) ?? true)) {
      const after = apply(state);
      look(state, after, name);
      expect(state, name).toEqual(copy);
      state = after;
    } else {
      expect(() => apply(state), `${name} in ${state.phase}`).toThrow("invariant broken");
    }
  }
}

describe("a queued transaction", () => {
  it("takes only the ways between phases that there are, and refuses the others", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        play(events, ({ phase: from }, { phase: to }, name) => {
          if (from !== to) expect(WAYS, name).toContain(`${from}>${to}`);
        });
      }),
      { numRuns: 500 },
    );
  });

  it("holds one nonce from its assignment on, and loses it only on the way back to waiting", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        play(events, (before, after, name) => {
          expect(after.nonce === undefined, name).toBe(after.phase === "waiting");
          if (before.phase !== "waiting" && after.phase !== "waiting") expect(after.nonce, name).toBe(before.nonce);
        });
      }),
      { numRuns: 500 },
    );
  });

  it("keeps its nonce and its attempts once a node may have its bytes", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        play(events, (before, after, name) => {
          if (before.phase === "waiting" || !before.mayBeInPool || before.hashes.length === 0) return;
          expect(after.mayBeInPool, name).toBe(true);
          expect(after.phase, name).not.toBe("waiting");
          expect(after.hashes.slice(0, before.hashes.length)).toEqual(before.hashes);
          if (before.broadcastAt !== undefined) expect(after.broadcastAt, name).toBe(before.broadcastAt);
        });
      }),
      { numRuns: 500 },
    );
  });

  it("begins anew after its signature was discarded", () => {
    const signed = missReceipt(noteConflict(retrySend(addSignature(assignNonce(start(), 7), hash(1)), 10), 15), 20);
    expect(discardSignature(signed, { resendMs: RESEND_MS })).toEqual(start());
  });

  it("stays in its block when a node accepts it again", () => {
    const included = include(addSignature(assignNonce(start(), 7), hash(1)), { number: 3, hash: hash(9) });
    const accepted = acceptSend(included, { nowMs: 5, now: "2026-01-01T00:00:00.000Z", isRepeated: true });
    expect(accepted).toMatchObject({ phase: "included", block: { number: 3, hash: hash(9) }, knownSinceMs: 5 });
  });
});

describe("what is due", () => {
  const sent = (atMs: number, isRepeated = false): QueueState =>
    acceptSend(addSignature(assignNonce(start(), 7), hash(1)), {
      nowMs: atMs,
      now: "2026-01-01T00:00:00.000Z",
      isRepeated,
    });

  it("is asked of the pool after the delay, and then after twice as long, up to a minute", () => {
    expect([isStale(sent(0), RESEND_MS - 1), isStale(sent(0), RESEND_MS)]).toEqual([false, true]);
    const again = backOffResend(sent(0), RESEND_MS);
    expect([isStale(again, 3 * RESEND_MS - 1), isStale(again, 3 * RESEND_MS)]).toEqual([false, true]);
    let state = again;
    for (let round = 0; round < 20; round += 1) state = backOffResend(state, 0);
    expect(state.resendDelayMs).toBe(60_000);
  });

  it("is stuck when the node has known it for the patience, until another attempt was made", () => {
    expect([isStuck(sent(0, true), 99, 100), isStuck(sent(0, true), 100, 100)]).toEqual([false, true]);
    expect(isStuck(sent(0), 100, 100)).toBe(false);
    expect(isStuck(forgetStuck(sent(0, true)), 100, 100)).toBe(false);
    expect(isStuck(setAttempts(sent(0, true), [hash(1), hash(2)]), 100, 100)).toBe(false);
  });

  it("is sent again a second later, unless it is being sent", () => {
    const retried = retrySend(endSend(sent(0)), 50);
    expect([isRetryDue(retried, 1_049), isRetryDue(retried, 1_050)]).toEqual([false, true]);
    expect(isRetryDue(retrySend(beginSend(sent(0)), 50), 1_050)).toBe(false);
    expect(isRetryDue(beginSend(retried), 1_050)).toBe(false);
  });

  it("is sent again after twice as long with each refusal, up to half a minute, and soon once it was taken", () => {
    let state: QueueState = endSend(addSignature(assignNonce(start(), 7), hash(1)));
    const pauses = Array.from({ length: 7 }, () => {
      state = holdRefused(state, FAULT, 0);
      return state.retryAtMs;
    });
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(state).toMatchObject({ refusals: 7, sendFault: FAULT });
    const taken = acceptSend(state, { nowMs: 0, now: "2026-01-01T00:00:00.000Z", isRepeated: false });
    expect(taken).toMatchObject({ refusals: 0, sendFault: undefined });
  });
});

describe("a refusal for good", () => {
  const signed = endSend(addSignature(assignNonce(start(), 7), hash(1)));
  const sent = acceptSend(signed, { nowMs: 0, now: "2026-01-01T00:00:00.000Z", isRepeated: false });
  const bumped = setAttempts(signed, [hash(1), hash(2)]);

  it.each<[string, QueueState, boolean, boolean]>([
    ["that no node has taken", signed, true, true],
    ["whose answer was lost", noteUnanswered(signed), false, true],
    ["that a node has taken", sent, false, false],
    ["with a second attempt", bumped, false, false],
  ])("ends one %s: %#", (_name, state, whenRefused, whenInvalid) => {
    expect(canEndRefused(state, { isInvalid: false })).toBe(whenRefused);
    expect(canEndRefused(state, { isInvalid: true })).toBe(whenInvalid);
  });
});

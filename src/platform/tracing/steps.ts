/**
 * Steps that a trace can show. Whoever takes a step says so on a channel of node:diagnostics_channel; what makes spans
 * of them (open-telemetry.ts) listens there. Without a listener a step costs one look at whether there is one.
 *
 * A step's name and attributes are words of our own, and numbers: never what a caller sent, never a secret.
 */
import { channel, tracingChannel } from "node:diagnostics_channel";

export type StepAttributes = Readonly<Record<string, string | number>>;

export interface Step {
  /** Such as `store commit`. */
  readonly name: string;
  readonly kind: "server" | "client" | "internal";
  /** Headers of the request by which a trace may come in; only for `server`. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Begins a trace of its own, whatever it was called from. Other steps outside of a trace are not shown. */
  readonly isRoot?: true;
  /** Asked when the step ends. */
  readonly attributes?: () => StepAttributes;
  /** The name when the step ends, where it is known only then. */
  readonly endName?: () => string;
  /** Whether the step failed, where its promise does not say so. */
  readonly isFailed?: () => boolean;
}

/** Steps as a listener gets them: it may keep what it needs in `mark`. */
export interface MarkedStep extends Step {
  mark?: unknown;
  error?: unknown;
}

export const STEPS = tracingChannel<unknown, MarkedStep>("proofwright:step");
/** Gets an object of headers for an outgoing request, to which a listener adds those of the trace. */
export const OUTGOING = channel("proofwright:outgoing");

const NONE: Readonly<Record<string, string>> = {};

/** Returns whether anybody listens: only then is it worth making what describes a step. */
export function isTraced(): boolean {
  return STEPS.hasSubscribers;
}

/** Runs a step and returns what it returns. */
export function traced<T>(step: Step, work: () => Promise<T>): Promise<T> {
  if (!STEPS.hasSubscribers) return work();
  // Async, so that what it throws at once is a rejection too.
  return STEPS.tracePromise(async () => await work(), { ...step });
}

/** Returns the headers by which the receiver of a request joins its trace; none outside of one. */
export function traceHeaders(): Readonly<Record<string, string>> {
  if (!OUTGOING.hasSubscribers) return NONE;
  const headers: Record<string, string> = {};
  OUTGOING.publish(headers);
  return headers;
}

/** The request as its handler gets it; see HandlerRequest in contract/route.ts for the members. */
import type { Principal } from "../../auth/principal.js";
import type { SentBack } from "../../contract/client-names.js";
import type { Once } from "../../contract/once.js";
import type { CompiledRoute } from "../compiled-route.js";
import type { Exchange } from "./exchange.js";
import { WAIT_SEC_MAX } from "../limits/limits.js";
import { bearerToken, preferredWaitSec, prefersAsync } from "./request-head.js";

/** What the earlier stages made of the request. */
export interface CheckedInput {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly sentBack: SentBack;
  readonly repeated?: readonly string[] | undefined;
  readonly principal: Principal | undefined;
}

/** Part of the deadline that `Prefer: wait` leaves for the answer itself. */
const WAIT_MARGIN_SEC = 1;

/** A class because of `signal`, which few handlers read: a getter in an object literal costs more than all the rest. */
export class CheckedRequest implements Omit<CheckedInput, "sentBack" | "repeated"> {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly sentBack: SentBack | undefined;
  readonly repeated: readonly string[] | undefined;
  readonly principal: Principal | undefined;
  readonly bearer: string | undefined;
  readonly authorization: string | undefined;
  readonly requestId: string;
  readonly address: string;
  readonly lastEventId: string | undefined;
  readonly preferWaitSec: number;
  /** Set by the stage that runs the handler. */
  once: Once | undefined = undefined;
  readonly #exchange: Exchange;

  constructor(
    exchange: Exchange,
    { route, deadlineMs }: CompiledRoute,
    { params, query, body, sentBack, repeated, principal }: CheckedInput,
  ) {
    const { head } = exchange;
    const isPublic = route.auth === "public";
    this.params = params;
    this.query = query;
    this.body = body;
    this.sentBack = route.sendsBack === undefined ? undefined : sentBack;
    this.repeated = repeated;
    this.principal = principal;
    this.bearer = isPublic ? bearerToken(head) : undefined;
    this.authorization = isPublic && head.authorizationCount === 1 ? head.authorization : undefined;
    this.requestId = exchange.requestId;
    this.address = exchange.address;
    this.lastEventId = head.headers["last-event-id"];
    this.preferWaitSec = preferredWaitSec(
      head,
      Math.min(WAIT_SEC_MAX, Math.floor(deadlineMs / 1000) - WAIT_MARGIN_SEC),
    );
    this.#exchange = exchange;
  }

  get prefersAsync(): boolean {
    return prefersAsync(this.#exchange.head);
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }
}

/** The stage that finds out who sends a request: its bearer token, and the principal behind the token. */
import type { Principal } from "../../auth/principal.js";
import { PerTickCache } from "../../concurrency/per-tick-cache.js";
import type { Area } from "../../contract/route.js";
import { AppError } from "../../errors.js";
import type { CompiledRoute } from "../compiled-route.js";
import type { Freshness } from "../freshness.js";
import { readProtocols } from "../socket-messages.js";
import type { Exchange } from "./exchange.js";
import { bearerToken, readBearer } from "./request-head.js";

/** Returns the principal of a token, or throws or rejects with `unauthorized`. */
export type Authenticate = (token: string, area: Area) => Principal | Promise<Principal>;

export class CallerReader {
  readonly #authenticate: Authenticate;
  readonly #bearers = new PerTickCache(readBearer);

  readonly #freshness: Freshness | undefined;

  constructor(dependencies: { readonly authenticate: Authenticate; readonly freshness?: Freshness }) {
    this.#authenticate = dependencies.authenticate;
    this.#freshness = dependencies.freshness;
  }

  /** The bearer token of the Authorization header, or of a WebSocket's subprotocols where there is no such header. */
  tokenOf({ head, upgrade }: Exchange): string | undefined {
    const token = bearerToken(head, (authorization) => this.#bearers.get(authorization));
    if (token !== undefined || upgrade === undefined || head.authorizationCount > 0) return token;
    return readProtocols(upgrade.protocols).token;
  }

  /** True for a WebSocket handshake without credentials: its token comes with the first message. */
  isAnonymousUpgrade(exchange: Exchange): boolean {
    return (
      exchange.upgrade !== undefined && exchange.head.authorizationCount === 0 && this.tokenOf(exchange) === undefined
    );
  }

  /**
   * Returns the principal of a request; undefined on public routes, and a promise only where it has to be waited for.
   * @throws unauthorized, and as Freshness.before, also by rejecting
   */
  callerOf(
    exchange: Exchange,
    { route, check }: CompiledRoute,
    formToken?: string,
  ): Principal | undefined | Promise<Principal | undefined> {
    const fresh = this.#freshness?.before(route, exchange.head);
    const caller = (): Principal | undefined | Promise<Principal> =>
      check === undefined ? undefined : this.authenticate(exchange, route.area, formToken);
    return fresh === undefined ? caller() : fresh.then(caller);
  }

  /**
   * Returns the principal of the request's token; a promise only where the token has to be looked up.
   * @param formToken the token that came in a form, where the route takes it from there
   * @throws unauthorized also by rejecting
   */
  authenticate(exchange: Exchange, area: Area, formToken?: string): Principal | Promise<Principal> {
    const token = formToken ?? this.tokenOf(exchange);
    if (token === undefined) throw new AppError("unauthorized", { message: "unauthorized" });
    return this.#authenticate(token, area);
  }
}

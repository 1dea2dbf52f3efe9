/**
 * The stage that decides whether an authenticated request may go on: permissions (403), rate (429), vault unsealed
 * (503). A server that is stopping is noticed before.
 */
import { formatSubject, type Principal } from "../../auth/principal.js";
import type { Clock } from "../../clock.js";
import { AppError } from "../../errors.js";
import type { Nodes } from "../../nodes/nodes.js";
import type { CompiledRoute } from "../compiled-route.js";
import type { Exchange } from "../request/exchange.js";
import type { HttpLimits } from "./limits.js";
import { RateLimiter } from "./rate-limit.js";

export interface AdmissionDependencies {
  readonly isUnsealed: () => boolean;
  readonly clock: Clock;
  /** The nodes that share the rates of callers; without it there is no other. */
  readonly nodes?: Pick<Nodes, "serving">;
}

export class Admission {
  readonly #isUnsealed: () => boolean;
  readonly #rates: RateLimiter | undefined;
  #isLeaving = false;
  #isDraining = false;

  constructor(limits: HttpLimits, dependencies: AdmissionDependencies) {
    this.#isUnsealed = dependencies.isUnsealed;
    this.#rates = limits.rateLimits ? new RateLimiter(limits, dependencies) : undefined;
  }

  /** True once the server is about to stop, and from then on: every answer ends its connection. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Serves on, but lets clients look for another server with their next connection. */
  startLeaving(): void {
    this.#isLeaving = true;
  }

  /** True once the server is stopping. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Refuses all requests from now on, except those for the service's own routes. */
  startDraining(): void {
    this.#isLeaving = true;
    this.#isDraining = true;
  }

  /** @throws shutting_down for every route but the service's own while the server is stopping */
  requireServing({ route }: CompiledRoute): void {
    if (this.#isDraining && route.area !== "service") throw shuttingDown();
  }

  /**
   * Checks the caller against the route, and notes both on the exchange.
   * @param principal undefined on public routes
   * @throws forbidden, too_many_requests or vault_sealed, in this order
   */
  admit(exchange: Exchange, compiled: CompiledRoute, principal: Principal | undefined): void {
    if (principal !== undefined) {
      exchange.subject = formatSubject(principal.subject);
      compiled.check?.(principal);
    }
    exchange.principal = principal;
    this.takeRate(compiled, exchange.subject ?? exchange.address);
    if (compiled.route.needsUnsealed === true && !this.#isUnsealed())
      throw new AppError("vault_sealed", { message: "the vault is sealed" });
  }

  /**
   * Counts a request against the caller's rate.
   * @param caller subject, or address of a request without a token
   * @throws too_many_requests with the seconds to wait
   */
  takeRate({ route }: CompiledRoute, caller: string): void {
    if (route.area === "service" || this.#rates === undefined) return;
    const waitSec = this.#rates.take(caller, route.method === "GET" ? "read" : "write");
    if (waitSec > 0)
      throw new AppError("too_many_requests", { message: "too many requests; slow down", retryAfterSec: waitSec });
  }
}

/** The failure of everything that a stopping server no longer does. */
export function shuttingDown(): AppError {
  return new AppError("shutting_down", { message: "the server is stopping; try again", retryAfterSec: 2 });
}

/**
 * Where a request goes: from its path as sent to the route and the parameters. Paths that name nothing but records by
 * their ids come again and again, so what was worked out for one is kept; whatever else stands in a path may be a
 * token, and is forgotten.
 */
import type { HttpMethod } from "../contract/route.js";
import { AppError } from "../errors.js";
import { MethodNotAllowed } from "./response/error-answer.js";
import type { CompiledRoute } from "./request/exchange.js";
import { canonicalPath } from "./request/request-path.js";
import { isFound, type Router } from "./router.js";

/** What a path leads to. */
export interface RouteMatch {
  readonly compiled: CompiledRoute;
  /** Canonical path. */
  readonly path: string;
  /** Parameters as they stand in the path, decoded. */
  readonly raw: Readonly<Record<string, string>>;
  /** The same once they were checked. */
  readonly params?: Readonly<Record<string, unknown>>;
}

/** At less than 1 KB each. */
const KNOWN_MAX = 4096;
const METHODS: ReadonlySet<string> = new Set<HttpMethod>(["GET", "POST", "PUT", "DELETE"]);

export class Places {
  readonly #router: Router<CompiledRoute>;
  readonly #knownMax: number;
  /** By method and path as sent: with its parameters checked, so that no path is kept that has none of a record. */
  readonly #known = new Map<string, Map<string, RouteMatch>>();
  #size = 0;

  constructor(options: { readonly knownMax?: number }, dependencies: { readonly router: Router<CompiledRoute> }) {
    this.#knownMax = options.knownMax ?? KNOWN_MAX;
    this.#router = dependencies.router;
  }

  /** Paths that are kept. */
  get size(): number {
    return this.#size;
  }

  /**
   * Throws `malformed_path`, `not_found`, `method_not_allowed`.
   * @param url path as sent, without its query
   */
  find(method: string, url: string): RouteMatch {
    return this.#known.get(method)?.get(url) ?? this.#look(method, url);
  }

  /** The checked parameters of a place that was found under this method and path. Throws `malformed_path`. */
  paramsOf(place: RouteMatch, method: string, url: string): Readonly<Record<string, unknown>> {
    if (place.params !== undefined) return place.params;
    const { validator } = place.compiled;
    const params = validator.params(place.raw);
    // Frozen, because all requests with this path share it.
    if (validator.takesIdsOnly) this.#remember({ ...place, params: Object.freeze(params) }, method, url);
    return params;
  }

  #look(method: string, url: string): RouteMatch {
    const path = canonicalPath(url);
    if (path === undefined)
      throw new AppError("malformed_path", { message: "the path has a form that is not taken here" });
    const wanted = method === "HEAD" ? "GET" : METHODS.has(method) ? (method as HttpMethod) : undefined;
    const found = this.#router.find(wanted, path.segments);
    if (isFound(found)) return { compiled: found.value, path: path.path, raw: found.params };
    if (found.length === 0) throw new AppError("not_found", { message: "there is nothing at this path" });
    throw new MethodNotAllowed([...found, ...(found.includes("GET") ? ["HEAD"] : []), "OPTIONS"]);
  }

  #remember(place: RouteMatch, method: string, url: string): void {
    if (this.#size >= this.#knownMax) {
      this.#known.clear();
      this.#size = 0;
    }
    const known = this.#known.get(method) ?? new Map<string, RouteMatch>();
    if (!known.has(url)) this.#size += 1;
    this.#known.set(method, known.set(url, place));
  }
}

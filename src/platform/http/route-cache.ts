/**
 * Finds the route and the parameters of a path as sent. The result for a path whose only parameters are ids of records
 * is cached, because such paths come again and again. Any other parameter may be a token, so its path is not stored.
 */
import { LRUCache } from "lru-cache";
import { HTTP_METHODS, type HttpMethod } from "../contract/route.js";
import { AppError } from "../errors.js";
import { isUuid } from "../ids.js";
import type { CompiledRoute } from "./compiled-route.js";
import { canonicalPath } from "./request/request-path.js";
import { MethodNotAllowed } from "./response/error-answer.js";
import { isFound, type Router } from "./router.js";

/** The route that a path leads to. */
export interface RouteMatch {
  readonly compiled: CompiledRoute;
  /** Canonical path. */
  readonly path: string;
  /** Parameters as texts of the path, decoded. */
  readonly raw: Readonly<Record<string, string>>;
  /** The parameters once they have been checked. */
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Paths of one method, at less than 1 KB each. */
const PATHS_MAX = 4096;
const METHODS: ReadonlySet<string> = new Set(HTTP_METHODS);

export class RouteCache {
  readonly #router: Router<CompiledRoute>;
  readonly #pathsMax: number;
  /** By method and path as sent. Only methods of routes (and HEAD) come in, so there are at most five caches. */
  readonly #byMethod = new Map<string, LRUCache<string, RouteMatch>>();

  /** @param options `pathsMax`: paths of one method; the least recently used one is evicted */
  constructor(options: { readonly pathsMax?: number }, dependencies: { readonly router: Router<CompiledRoute> }) {
    this.#pathsMax = options.pathsMax ?? PATHS_MAX;
    this.#router = dependencies.router;
  }

  /** Number of cached paths, over all methods. */
  get size(): number {
    return [...this.#byMethod.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * Returns the route of a path; its parameters are not checked yet, unless they come from the cache.
   * @param url path as sent, without its query
   * @throws malformed_path, not_found or method_not_allowed
   */
  find(method: string, url: string): RouteMatch {
    return this.#byMethod.get(method)?.get(url) ?? this.#search(method, url);
  }

  /**
   * Returns the checked parameters of a match that was found under this method and path.
   * @throws malformed_path
   */
  paramsOf(match: RouteMatch, method: string, url: string): Readonly<Record<string, unknown>> {
    if (match.params !== undefined) return match.params;
    const { validator } = match.compiled;
    const params = validator.params(match.raw);
    // Frozen, because all requests with this path share it.
    if (validator.takesIds && Object.values(match.raw).every((text) => isUuid(text.toLowerCase())))
      this.#cacheOf(method).set(url, { ...match, params: Object.freeze(params) });
    return params;
  }

  /** Returns the route that a malformed path was meant for, if its other segments tell. */
  meant(method: string, url: string): CompiledRoute | undefined {
    const segments = url.split("/").filter((segment) => segment !== "");
    const found = METHODS.has(method) ? this.#router.find(method as HttpMethod, segments) : [];
    return isFound(found) ? found.value : undefined;
  }

  #search(method: string, url: string): RouteMatch {
    const path = canonicalPath(url);
    if (path === undefined)
      throw new AppError("malformed_path", {
        message:
          "the path is not in canonical form: no empty or dot segments, no encoded slashes, no needless encoding",
      });
    const wanted = method === "HEAD" ? "GET" : METHODS.has(method) ? (method as HttpMethod) : undefined;
    const found = this.#router.find(wanted, path.segments);
    if (isFound(found)) return { compiled: found.value, path: path.path, raw: found.params };
    if (found.length === 0) throw new AppError("not_found", { message: "there is nothing at this path" });
    throw new MethodNotAllowed([...found, ...(found.includes("GET") ? ["HEAD"] : []), "OPTIONS"]);
  }

  #cacheOf(method: string): LRUCache<string, RouteMatch> {
    const known = this.#byMethod.get(method);
    if (known !== undefined) return known;
    const made = new LRUCache<string, RouteMatch>({ max: this.#pathsMax });
    this.#byMethod.set(method, made);
    return made;
  }
}

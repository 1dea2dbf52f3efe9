/** Finds the route of a path in a tree over its segments; a literal segment takes precedence over a parameter. */
import type { HttpMethod } from "../contract/route.js";

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  parameter: Node<T> | undefined;
  readonly routes: Map<HttpMethod, { readonly value: T; readonly names: readonly string[] }>;
}

export interface Found<T> {
  readonly value: T;
  /** Parameter name -> decoded segment. */
  readonly params: Readonly<Record<string, string>>;
}

export class Router<T> {
  readonly #root: Node<T> = createNode();

  /**
   * Adds a route.
   * @param path such as `/api/v1/vaults/:id`
   * @throws Error when the method has a route at this path already
   */
  add(method: HttpMethod, path: string, value: T): void {
    const names: string[] = [];
    let node = this.#root;
    for (const part of path.split("/").filter((segment) => segment !== "")) {
      if (part.startsWith(":")) {
        names.push(part.slice(1));
        node = node.parameter ??= createNode();
      } else {
        const next = node.literals.get(part) ?? createNode<T>();
        node.literals.set(part, next);
        node = next;
      }
    }
    if (node.routes.has(method)) throw new Error(`two routes answer ${method} ${path}`);
    node.routes.set(method, { value, names });
  }

  /**
   * Returns the route, or the methods that have a route at this path (none when the path is unknown).
   * @param method undefined for one that no route has
   * @param segments decoded
   */
  find(method: HttpMethod | undefined, segments: readonly string[]): Found<T> | readonly HttpMethod[] {
    return (
      (method === undefined ? undefined : search(this.#root, { method, segments, values: [] })) ?? [
        ...methodsAt(this.#root, segments),
      ]
    );
  }
}

/** Tells the two results of `Router.find` apart. */
export function isFound<T>(result: Found<T> | readonly HttpMethod[]): result is Found<T> {
  return !Array.isArray(result);
}

function createNode<T>(): Node<T> {
  return { literals: new Map(), parameter: undefined, routes: new Map() };
}

interface Search {
  readonly method: HttpMethod;
  readonly segments: readonly string[];
  /** Segments matched by parameters so far. */
  readonly values: string[];
}

function search<T>(node: Node<T>, wanted: Search, depth = 0): Found<T> | undefined {
  const { method, segments, values } = wanted;
  const segment = segments[depth];
  if (segment === undefined) {
    const hit = node.routes.get(method);
    return hit === undefined ? undefined : { value: hit.value, params: paramsOf(hit.names, values) };
  }
  const literal = node.literals.get(segment);
  const found = literal === undefined ? undefined : search(literal, wanted, depth + 1);
  if (found !== undefined || node.parameter === undefined) return found;
  values.push(segment);
  const below = search(node.parameter, wanted, depth + 1);
  values.pop();
  return below;
}

/** The methods of every route that matches the path. */
function methodsAt<T>(node: Node<T> | undefined, segments: readonly string[], depth = 0): Set<HttpMethod> {
  const segment = segments[depth];
  if (node === undefined) return new Set();
  if (segment === undefined) return new Set(node.routes.keys());
  return new Set([
    ...methodsAt(node.literals.get(segment), segments, depth + 1),
    ...methodsAt(node.parameter, segments, depth + 1),
  ]);
}

function paramsOf(names: readonly string[], values: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  names.forEach((name, index) => {
    params[name] = values[index] ?? "";
  });
  return params;
}

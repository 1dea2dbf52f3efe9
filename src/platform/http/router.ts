/** Finds the route of a path: a tree over segments, a literal before a parameter. Pure; knows nothing of requests. */
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

function createNode<T>(): Node<T> {
  return { literals: new Map(), parameter: undefined, routes: new Map() };
}

export class Router<T> {
  readonly #root: Node<T> = createNode();

  /** @param path such as `/api/v1/vaults/:id`; throws when method and path are taken. */
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

  /** The route, or the methods that the path has (none when it is unknown). */
  find(method: HttpMethod | undefined, segments: readonly string[]): Found<T> | readonly HttpMethod[] {
    return (
      (method === undefined ? undefined : this.#search(this.#root, method, segments, 0, [])) ?? [
        ...this.#methodsOf(this.#root, segments, 0),
      ]
    );
  }

  #search(
    node: Node<T>,
    method: HttpMethod,
    segments: readonly string[],
    depth: number,
    values: string[],
  ): Found<T> | undefined {
    const segment = segments[depth];
    if (segment === undefined) {
      const hit = node.routes.get(method);
      return hit === undefined ? undefined : { value: hit.value, params: paramsOf(hit.names, values) };
    }
    const literal = node.literals.get(segment);
    const found = literal === undefined ? undefined : this.#search(literal, method, segments, depth + 1, values);
    if (found !== undefined || node.parameter === undefined) return found;
    values.push(segment);
    const below = this.#search(node.parameter, method, segments, depth + 1, values);
    values.pop();
    return below;
  }

  /** The methods of every route that the path could be. */
  #methodsOf(node: Node<T> | undefined, segments: readonly string[], depth: number): Set<HttpMethod> {
    const segment = segments[depth];
    if (node === undefined) return new Set();
    if (segment === undefined) return new Set(node.routes.keys());
    return new Set([
      ...this.#methodsOf(node.literals.get(segment), segments, depth + 1),
      ...this.#methodsOf(node.parameter, segments, depth + 1),
    ]);
  }
}

function paramsOf(names: readonly string[], values: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  names.forEach((name, index) => {
    params[name] = values[index] ?? "";
  });
  return params;
}

export function isFound<T>(result: Found<T> | readonly HttpMethod[]): result is Found<T> {
  return !Array.isArray(result);
}

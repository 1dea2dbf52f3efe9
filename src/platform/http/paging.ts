/**
 * Headers of a list answer: how many results there are, and where the other pages are (RFC 8288, RFC 5988 relation
 * names).
 */
import type { QueryPair } from "../contract/query.js";
import { LINK_HEADER_BYTES_MAX } from "./limits/limits.js";

export interface PageOf {
  /** Canonical path of the request. */
  readonly path: string;
  /** The query as it was given; kept in the links, but for page and rpp. */
  readonly pairs: readonly QueryPair[];
  /** 1-based. */
  readonly page: number;
  /** Results per page. */
  readonly rpp: number;
  /** Results over all pages. */
  readonly total: number;
}

export function listHeaders(of: PageOf): [string, string][] {
  const headers: [string, string][] = [["X-Total-Results-Count", String(of.total)]];
  const last = Math.max(1, Math.ceil(of.total / of.rpp));
  const links = [
    link(of, 1, "first"),
    ...(of.page > 1 ? [link(of, Math.min(of.page - 1, last), "prev")] : []),
    ...(of.page < last ? [link(of, of.page + 1, "next")] : []),
    link(of, last, "last"),
  ].join(", ");
  if (links.length <= LINK_HEADER_BYTES_MAX) headers.push(["Link", links]);
  return headers;
}

function link(of: PageOf, page: number, relation: string): string {
  const query = new URLSearchParams();
  for (const [name, value] of of.pairs) {
    if (name !== "page" && name !== "rpp") query.append(name, value);
  }
  query.append("page", String(page));
  query.append("rpp", String(of.rpp));
  return `<${of.path}?${query.toString()}>; rel="${relation}"`;
}

/** Headers of a list: the total number of results, and links to the other pages (RFC 8288). */
import type { QueryPair } from "../contract/query.js";
import { LINK_HEADER_BYTES_MAX } from "./limits/limits.js";

/** Header of every answer that is a list. */
export const TOTAL_HEADER = "X-Total-Results-Count";

export interface ListPage {
  /** Canonical path of the request. */
  readonly path: string;
  /** The query as sent; the links repeat it, with their own `page` and `rpp`. */
  readonly pairs: readonly QueryPair[];
  /** 1-based. */
  readonly page: number;
  /** Results per page. */
  readonly rpp: number;
  /** Results over all pages. */
  readonly total: number;
}

/**
 * Returns X-Total-Results-Count and Link. Link is left out where long queries would make it longer than clients accept.
 */
export function listHeaders(of: ListPage): [string, string][] {
  const headers: [string, string][] = [[TOTAL_HEADER, String(of.total)]];
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

function link(of: ListPage, page: number, relation: string): string {
  const query = new URLSearchParams();
  for (const [name, value] of of.pairs) {
    if (name !== "page" && name !== "rpp") query.append(name, value);
  }
  query.append("page", String(page));
  query.append("rpp", String(of.rpp));
  return `<${of.path}?${query.toString()}>; rel="${relation}"`;
}

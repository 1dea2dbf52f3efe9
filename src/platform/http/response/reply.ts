/** Turns a reply into an answer: JSON, bytes, a stored file, a stream or nothing; adds the headers of lists. */
import { assert } from "../../errors.js";
import { JsonText } from "../../json/json-text.js";
import { answersOf, type AnyReply } from "../../contract/route.js";
import type { QueryPair } from "../../contract/query.js";
import { JSON_TYPE, type Answer } from "./answer.js";
import type { CompiledRoute } from "../compiled-route.js";
import type { Exchange } from "../request/exchange.js";
import { fileAnswer } from "./file-answer.js";
import { staticAnswer } from "./static-answer.js";
import { listHeaders, TOTAL_HEADER } from "../paging.js";

/** The request's path and query, for the links of a list. */
export interface ListRequest {
  /** Canonical path. */
  readonly path: string;
  /** Checked members of the query. */
  readonly members: Readonly<Record<string, unknown>>;
  /** The query as sent. */
  readonly pairs: readonly QueryPair[];
}

/**
 * Returns the answer of a reply; a promise only for a stored file, which has to be opened, and for bytes
 * that may have to be compressed.
 * @throws Error when the reply is none that the route declares
 */
export function replyAnswer(
  exchange: Exchange,
  compiled: CompiledRoute,
  reply: AnyReply,
  list: ListRequest,
): Answer | Promise<Answer> {
  const { route, noStore } = compiled;
  const spec = answersOf(route)[reply.status];
  assert(spec !== undefined, "a handler answers a status that its route declares");
  const headers = reply.headers === undefined ? [] : Object.entries(reply.headers);
  if (reply.file !== undefined) {
    assert(spec.file !== undefined, "a file is answered where the route declares one");
    return fileAnswer(reply.file, spec.file, exchange.head).then((answer) => ({
      ...answer,
      headers: [...(answer.headers ?? []), ...headers],
      noStore,
    }));
  }
  if (reply.fixed !== undefined) {
    assert(spec.bytes !== undefined && spec.fixed === true, "fixed bytes are answered where the route declares them");
    const own = new Set(headers.map(([name]) => name));
    return staticAnswer(reply.fixed, spec.bytes, exchange.head).then((answer) => ({
      ...answer,
      // The handler knows better how long its answer may be kept.
      headers: [...(answer.headers ?? []).filter(([name]) => !own.has(name)), ...headers],
      noStore,
    }));
  }
  if (reply.stream !== undefined) {
    assert(spec.stream !== undefined, "a stream is answered where the route declares one");
    // A HEAD request opens no stream.
    return {
      status: reply.status,
      contentType: spec.stream,
      headers,
      ...(exchange.isHead ? {} : { stream: reply.stream }),
    };
  }
  if (reply.bytes !== undefined) {
    assert(spec.bytes !== undefined, "bytes are answered where the route declares them");
    return { status: reply.status, contentType: spec.bytes, headers, body: reply.bytes, noStore };
  }
  if (route.list === true) headers.push(...pageHeaders(reply, list));
  else if (route.method === "GET" && Array.isArray(reply.body)) headers.push([TOTAL_HEADER, String(reply.body.length)]);
  if (reply.body === undefined) return { status: reply.status, headers, noStore };
  const body = reply.body instanceof JsonText ? reply.body.text : JSON.stringify(reply.body);
  return { status: reply.status, contentType: JSON_TYPE, headers, body, noStore };
}

function pageHeaders(reply: AnyReply, list: ListRequest): [string, string][] {
  const { total } = reply;
  assert(total !== undefined && Number.isSafeInteger(total) && total >= 0, "a list's reply carries its total");
  return listHeaders({
    path: list.path,
    pairs: list.pairs,
    page: Number(list.members.page),
    rpp: Number(list.members.rpp),
    total,
  });
}

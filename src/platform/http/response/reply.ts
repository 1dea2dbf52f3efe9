/** Turns what a handler replied into an answer: JSON, bytes, a stored file or nothing, with the headers of lists. */
import { assert } from "../../errors.js";
import { JsonText } from "../../json/json-text.js";
import type { AnyReply } from "../../contract/route.js";
import type { QueryPair } from "../../contract/query.js";
import { JSON_TYPE, type Answer } from "./answer.js";
import type { CompiledRoute, Exchange } from "../request/exchange.js";
import { fileAnswer } from "./file-answer.js";
import { listHeaders } from "../paging.js";
import { writeJson } from "../../json/write-json.js";

export interface ReplyPlace {
  /** Canonical path of the request. */
  readonly path: string;
  readonly members: Readonly<Record<string, unknown>>;
  readonly pairs: readonly QueryPair[];
}

export function replyAnswer(
  exchange: Exchange,
  compiled: CompiledRoute,
  reply: AnyReply,
  place: ReplyPlace,
): Answer | Promise<Answer> {
  const { route, noStore } = compiled;
  const spec = route.responses[reply.status];
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
  if (reply.stream !== undefined) {
    assert(spec.stream !== undefined, "a stream is answered where the route declares one");
    // A question about the head alone begins no stream.
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
  if (route.list === true) headers.push(...pageHeaders(reply, place));
  if (reply.body === undefined) return { status: reply.status, headers, noStore };
  const body = reply.body instanceof JsonText ? reply.body.text : writeJson(reply.body);
  return { status: reply.status, contentType: JSON_TYPE, headers, body, noStore };
}

function pageHeaders(reply: AnyReply, place: ReplyPlace): [string, string][] {
  const { total } = reply;
  assert(total !== undefined && Number.isSafeInteger(total) && total >= 0, "a list's reply carries its total");
  return listHeaders({
    path: place.path,
    pairs: place.pairs,
    page: Number(place.members.page),
    rpp: Number(place.members.rpp),
    total,
  });
}

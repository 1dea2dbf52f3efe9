/** Route of the event stream. */
import Type from "typebox";
import { defineRoute } from "../contract/route.js";
import { closed } from "../contract/schemas.js";
import { FILTER_PATTERN, SUBJECT_CHARACTERS_MAX } from "./subject-filter.js";

/** Most filters of one subscriber. */
const FILTERS_MAX = 32;
/** Event numbers are exact in a double up to here. */
const EVENT_ID_MAX = Number.MAX_SAFE_INTEGER;

const DESCRIPTION = [
  [
    "Sends server-sent events. Each event has an `id` and, as data, one line of JSON",
    "`{id, subject, created_at, payload}`; an event whose payload is over 64 KiB has `payload: null, truncated: true`.",
    "A token receives the events of its own subject and those for everyone.",
  ],
  [
    "`subject` filters events as NATS does: `*` stands for one word, `>` at the end for one or more. Repeat it for",
    "several filters.",
  ],
  [
    "Every event is durable. With `Last-Event-ID` (header, or `last_event_id` in the query) the stream starts with the",
    "events since then, in order; `0` asks for all that are kept. Without it the stream starts now. Delivery is at least",
    "once.",
  ],
  [
    "Messages with an event name are about the stream: `ready` (the position at which it starts), `gap` (events up to",
    "its id are no longer kept, and some may have been missed), `end` with a `reason`: `token_expired`, `token_revoked`,",
    "`forbidden`, `slow_consumer`, `shutting_down`, `failed`. Heartbeats advance the id without an event. After `end`,",
    "connect again with the last id.",
  ],
  [
    "The same path accepts a WebSocket: each message is the JSON as a text frame, and messages about the stream have a",
    "`type` (`ready`, `heartbeat`, `gap`). The token goes into the Authorization header; from a browser into a",
    "subprotocol `bearer.<token>` beside `proofwright.events.v1`, or into the first message",
    '`{"token", "subject"?, "last_event_id"?}` within 10 seconds. A later message `{"token"}` of the same subject',
    "prolongs the stream. Close codes: 4401 (token), 4403 (permission or filter), 4408 (slow consumer), 4422 (bad",
    "request), 4429 (too many streams), 1012 (the server stops).",
  ],
]
  .map((lines) => lines.join(" "))
  .join("\n\n");

export const eventRoutes = {
  streamEvents: defineRoute({
    id: "streamEvents",
    area: "chain",
    method: "GET",
    path: "/api/v1/events",
    summary: "Listen to events",
    description: DESCRIPTION,
    auth: { permissions: ["subscribe"], limitedTokens: true },
    query: closed({
      subject: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: SUBJECT_CHARACTERS_MAX, pattern: FILTER_PATTERN }), {
          maxItems: FILTERS_MAX,
          description:
            "filters over subjects, such as `network.*.status`; everything that the token may see when absent",
        }),
      ),
      last_event_id: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: EVENT_ID_MAX,
          description: "as the header Last-Event-ID, which takes precedence",
        }),
      ),
    }),
    responses: { 200: { description: "Events, until one side ends the stream", stream: "text/event-stream" } },
    errors: ["upgrade_required"],
  }),
} as const;

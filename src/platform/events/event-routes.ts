/** Route definition of the event stream. A plain value; no server code. */
import Type from "typebox";
import { defineRoute } from "../contract/route.js";
import { closed } from "../contract/schemas.js";
import { FILTER_PATTERN, SUBJECT_CHARACTERS_MAX } from "./subject-filter.js";

/** Filters of one subscriber. */
const FILTERS_MAX = 32;
/** Numbers of events stay exact in a double. */
const EVENT_ID_MAX = Number.MAX_SAFE_INTEGER;

export const eventRoutes = {
  streamEvents: defineRoute({
    id: "streamEvents",
    area: "chain",
    method: "GET",
    path: "/api/v1/events",
    summary: "Listen to events",
    description: [
      "Server-sent events: each event has an `id` and, as data, one line of JSON `{id, subject, created_at, payload}`; an event whose payload is over 64 KiB has `payload: null, truncated: true`. A token sees the events of its own subject and those for everyone.",
      "`subject` filters as NATS does: `*` stands for one word, `>` at the end for one or more; give it several times for several filters.",
      "Every event is durable. With `Last-Event-ID` (header, or `last_event_id` in the query) the stream first gives what came since, in order; `0` gives all that is kept. Without it the stream begins now. Delivery is at least once.",
      "Messages with an event name are about the stream: `ready` (the position where it begins), `gap` (events up to its id are no longer kept, some may have been missed), `end` with a `reason`: `token_expired`, `token_revoked`, `forbidden`, `slow_consumer`, `shutting_down`, `failed`. Heartbeats move the id along without an event. After `end`, connect again with the last id.",
      'The same path answers a WebSocket: each message is the JSON as a text frame, those about the stream with a `type` (`ready`, `heartbeat`, `gap`). The token goes into the Authorization header; from a browser into a subprotocol `bearer.<token>` beside `proofwright.events.v1`, or into the first message `{"token", "subject"?, "last_event_id"?}` within 10 seconds. A later message `{"token"}` of the same subject prolongs the stream. It is closed with 4401 (token), 4403 (permission or filter), 4408 (slow consumer), 4422 (bad request), 4429 (too many streams), 1012 (the server stops).',
    ].join("\n\n"),
    auth: { permissions: ["subscribe"], limitedTokens: true },
    query: closed({
      subject: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: SUBJECT_CHARACTERS_MAX, pattern: FILTER_PATTERN }), {
          maxItems: FILTERS_MAX,
          description: "filters over subjects, such as `network.*.status`; all that the token may see when absent",
        }),
      ),
      last_event_id: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: EVENT_ID_MAX,
          description: "as the header Last-Event-ID, which comes first",
        }),
      ),
    }),
    responses: { 200: { description: "Events, for as long as both sides like", stream: "text/event-stream" } },
  }),
} as const;

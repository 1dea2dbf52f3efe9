/** Handler of the event stream. */
import type { HandlersFor } from "../contract/route.js";
import { invalidMember } from "../errors.js";
import type { EventBus } from "./event-bus.js";
import type { eventRoutes } from "./event-routes.js";

const EVENT_ID = /^(0|[1-9][0-9]{0,15})$/;

/** Makes the handler of each route of `eventRoutes`. */
export function eventHandlers(dependencies: { readonly events: EventBus }): HandlersFor<typeof eventRoutes> {
  return {
    streamEvents: ({ principal, query, lastEventId }) => ({
      status: 200,
      // Tells proxies that buffer answers (nginx among them) to pass events on at once.
      headers: { "Cache-Control": "no-store", "X-Accel-Buffering": "no" },
      stream: dependencies.events.listen(principal, {
        subjects: query.subject,
        lastEventId: lastEventId === undefined || lastEventId === "" ? query.last_event_id : eventId(lastEventId),
      }),
    }),
  };
}

function eventId(text: string): number {
  if (!EVENT_ID.test(text) || !Number.isSafeInteger(Number(text)))
    throw invalidMember("Last-Event-ID", "Last-Event-ID: must be the id of an event");
  return Number(text);
}

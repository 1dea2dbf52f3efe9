/** Handler of the event stream. */
import type { HandlersFor } from "../contract/route.js";
import { invalidMember } from "../errors.js";
import type { EventBus } from "./event-bus.js";
import type { eventRoutes } from "./event-routes.js";

const EVENT_ID = /^(0|[1-9][0-9]{0,15})$/;

/** Makes the handler of each route of `eventRoutes`. */
export function eventHandlers({ events }: { readonly events: EventBus }): HandlersFor<typeof eventRoutes> {
  return {
    streamEvents: async ({ principal, query, lastEventId: header }) => {
      const lastEventId = header === undefined || header === "" ? query.last_event_id : eventId(header);
      // With local reads, the reader may have been told more by another node.
      if (lastEventId !== undefined && events.mayBeElsewhere(lastEventId)) await events.catchUp();
      return {
        status: 200,
        // Tells proxies that buffer answers (nginx among them) to pass events on at once.
        headers: { "Cache-Control": "no-store", "X-Accel-Buffering": "no" },
        stream: events.listen(principal, { subjects: query.subject, lastEventId }),
      };
    },
  };
}

function eventId(text: string): number {
  if (!EVENT_ID.test(text) || !Number.isSafeInteger(Number(text)))
    throw invalidMember("Last-Event-ID", "Last-Event-ID: must be the id of an event");
  return Number(text);
}

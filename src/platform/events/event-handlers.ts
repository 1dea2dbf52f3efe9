/** Translates between HTTP and the bus. */
import type { HandlersFor } from "../contract/route.js";
import { AppError } from "../errors.js";
import type { EventBus } from "./event-bus.js";
import type { eventRoutes } from "./event-routes.js";

const EVENT_ID = /^(0|[1-9][0-9]{0,15})$/;

export function eventHandlers(dependencies: { readonly events: EventBus }): HandlersFor<typeof eventRoutes> {
  return {
    streamEvents: ({ principal, query, lastEventId }) => ({
      status: 200,
      // Proxies that gather answers before passing them on would hold events back.
      headers: { "Cache-Control": "no-store", "X-Accel-Buffering": "no" },
      stream: dependencies.events.listen(principal, {
        subjects: query.subject,
        lastEventId: lastEventId === undefined || lastEventId === "" ? query.last_event_id : eventId(lastEventId),
      }),
    }),
  };
}

function eventId(text: string): number {
  if (!EVENT_ID.test(text) || !Number.isSafeInteger(Number(text))) {
    const message = "Last-Event-ID: must be the id of an event";
    throw new AppError("invalid_request", {
      message,
      details: [{ message, code: "invalid_request", path: "Last-Event-ID" }],
    });
  }
  return Number(text);
}

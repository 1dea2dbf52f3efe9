/** The messages of the event stream: events, and those about the stream itself. */
import type { StreamMessage } from "../contract/stream.js";
import type { LoggedEvent } from "./event-log.js";
import { matches, type SubjectFilter } from "./subject-filter.js";

/** Tells the position at which the stream begins. */
export function readyMessage(position: number): StreamMessage {
  return streamMessage(position, "ready");
}

/** Moves the reader's position along while nothing happens. */
export function heartbeatMessage(position: number): StreamMessage {
  return streamMessage(position, "heartbeat");
}

/** Tells that events up to this number are no longer kept; the reader may have missed some of them. */
export function gapMessage(upTo: number): StreamMessage {
  return streamMessage(upTo, "gap");
}

/** @param subject the one of the event's subjects under which the reader gets it */
export function eventMessage(event: LoggedEvent, subject: string): StreamMessage {
  const { number: id, at: created_at, payload, truncated } = event;
  return {
    id,
    json: JSON.stringify({ id, subject, created_at, payload, ...(truncated === undefined ? {} : { truncated }) }),
  };
}

/** Returns the first subject of an event that a filter matches; undefined when none does. */
export function matchingSubject(event: LoggedEvent, filters: readonly SubjectFilter[]): string | undefined {
  if (filters.length === 0) return event.subjects[0];
  return event.subjects.find((subject) => {
    const words = subject.split(".");
    return filters.some((filter) => matches(filter, words));
  });
}

function streamMessage(id: number, type: string): StreamMessage {
  return { id, type, json: JSON.stringify({ id, type }) };
}

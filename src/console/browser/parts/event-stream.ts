/** Listens to the server's events, and goes on after an interruption where it stopped. */
import { useEffect, useRef, useState } from "preact/hooks";
import { API } from "./api-calls.js";
import { sentenceOf, sendRaw } from "./api.js";
import { EventReader } from "./sse.js";

export interface ServerEvent {
  readonly id: number;
  readonly subject: string;
  readonly created_at: string;
  readonly payload: unknown;
}

const AGAIN_MS = 2000;

export type StreamState = "connecting" | "listening" | "paused";

/**
 * Calls back with each event while the component is there.
 * @param subject filter such as `network.*.status`; empty for all
 * @returns how the stream is, and the server's sentence after a failure
 */
export function useEvents(
  subject: string,
  onEvent: (event: ServerEvent) => void,
  isPaused = false,
): { readonly state: StreamState; readonly error: string | undefined } {
  const [state, setState] = useState<StreamState>("connecting");
  const [error, setError] = useState<string>();
  const listener = useRef(onEvent);
  listener.current = onEvent;
  useEffect(() => {
    if (isPaused) {
      setState("paused");
      return;
    }
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastId: string | undefined;
    const listen = async (): Promise<void> => {
      setState("connecting");
      try {
        await readStream(subject, lastId, abort.signal, {
          onOpen: () => {
            setState("listening");
            setError(undefined);
          },
          onEvent: (event) => {
            lastId = String(event.id);
            listener.current(event);
          },
        });
      } catch (thrown) {
        if (!abort.signal.aborted) setError(sentenceOf(thrown));
      }
      if (!abort.signal.aborted) timer = setTimeout(() => void listen(), AGAIN_MS);
    };
    void listen();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [subject, isPaused]);
  return { state, error };
}

interface StreamListeners {
  readonly onOpen: () => void;
  readonly onEvent: (event: ServerEvent) => void;
}

async function readStream(
  subject: string,
  lastId: string | undefined,
  signal: AbortSignal,
  { onOpen, onEvent }: StreamListeners,
): Promise<void> {
  const query = { subject: subject === "" ? undefined : subject, last_event_id: lastId };
  const answer = await sendRaw(API.events([], undefined, query), { signal });
  if (answer.body === null) return;
  onOpen();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const events = new EventReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    for (const { data } of events.push(value)) {
      const event = JSON.parse(data) as Partial<ServerEvent>;
      // The first one only says where the stream begins.
      if (event.subject !== undefined) onEvent(event as ServerEvent);
    }
  }
}

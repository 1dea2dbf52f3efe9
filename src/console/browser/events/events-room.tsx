/** The events as they happen, with a filter over their subjects. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { useEvents, type ServerEvent } from "../parts/event-stream.js";
import { Badge, Empty, Head } from "../parts/ui.js";

const KEPT = 500;

/** The room. */
export function EventsRoom() {
  const [subject, setSubject] = useState("");
  const [isPaused, setPaused] = useState(false);
  const [events, setEvents] = useState<readonly ServerEvent[]>([]);
  const { state, error } = useEvents(
    subject,
    (event) => setEvents((before) => [event, ...before].slice(0, KEPT)),
    isPaused,
  );
  return (
    <>
      <Head title="Events" call={API.events([], undefined, { subject })}>
        <Badge word={state} />
      </Head>
      <form
        class="row filters"
        onSubmit={(event) => {
          event.preventDefault();
          const field = event.currentTarget.elements.namedItem("subject");
          if (field instanceof HTMLInputElement) setSubject(field.value.trim());
          setEvents([]);
        }}
      >
        <input
          name="subject"
          type="search"
          class="code"
          aria-label="Filter over subjects"
          placeholder="privacy.prover.> or network.*.status"
          spellcheck={false}
        />
        <button>Filter</button>
        <button type="button" onClick={() => setPaused(!isPaused)} aria-pressed={isPaused}>
          {isPaused ? "Go on" : "Pause"}
        </button>
        <button type="button" class="quiet" onClick={() => setEvents([])}>
          Clear
        </button>
      </form>
      {error === undefined ? null : (
        <p class="failure" role="alert">
          {error}
        </p>
      )}
      {events.length === 0 ? (
        <Empty title="Listening">
          <p>
            Events of your provers, contracts and networks appear here. <code>*</code> stands for one word,{" "}
            <code>&gt;</code> at the end for all that follow.
          </p>
        </Empty>
      ) : (
        <Tail events={events} />
      )}
    </>
  );
}

function Tail({ events }: { readonly events: readonly ServerEvent[] }) {
  return (
    <ol class="tail" aria-label="Events" aria-live="off">
      {events.map(({ id, subject: own, created_at: at, payload }) => (
        <li key={id}>
          <time dateTime={at}>{new Date(at).toLocaleTimeString()}</time>
          <code>{own}</code>
          <pre>{JSON.stringify(payload)}</pre>
        </li>
      ))}
    </ol>
  );
}

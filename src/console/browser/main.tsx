/** The console's beginning: ends a login that is under way, then shows the room that the address names. */
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { CallDrawer } from "./parts/call-drawer.js";
import { usePlace, type Place } from "./parts/router.js";
import { finishSignIn, session } from "./parts/session.js";
import { useStore } from "./parts/store.js";
import { Toasts } from "./parts/toasts.js";
import { AuditRoom } from "./audit/audit-room.js";
import { ChainRoom } from "./chain/chain-room.js";
import { EventsRoom } from "./events/events-room.js";
import { PeopleRoom } from "./people/people-room.js";
import { ProversRoom } from "./provers/provers-room.js";
import { QueueRoom } from "./queue/queue-room.js";
import { Shell } from "./shell/shell.js";
import { applyTheme } from "./shell/theme.js";
import { Welcome } from "./shell/welcome.js";
import { VaultsRoom } from "./vaults/vaults-room.js";
import "./console.css";

function App({ notice }: { readonly notice: string | undefined }) {
  const place = usePlace();
  const signedIn = useStore(session);
  const address = place.words.join("/");
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) {
      scrollTo(0, 0);
      document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
    }
    isFirst.current = false;
  }, [address]);
  return (
    <>
      {signedIn === undefined ? (
        <Welcome notice={notice} />
      ) : (
        <Shell place={place} session={signedIn}>
          <Room place={place} userId={signedIn.userId} />
        </Shell>
      )}
      <Toasts />
      <CallDrawer />
    </>
  );
}

function Room({ place, userId }: { readonly place: Place; readonly userId: string }) {
  const [room = "provers", ...words] = place.words;
  switch (room) {
    case "queue":
      return <QueueRoom />;
    case "vaults":
      return <VaultsRoom words={words} />;
    case "chain":
      return <ChainRoom words={words} />;
    case "people":
      return <PeopleRoom words={words} userId={userId} />;
    case "audit":
      return <AuditRoom />;
    case "events":
      return <EventsRoom />;
    default:
      return <ProversRoom words={words} />;
  }
}

async function start(): Promise<void> {
  applyTheme();
  const notice = await finishSignIn();
  const root = document.querySelector("#console");
  if (root === null) return;
  root.replaceChildren();
  render(<App notice={notice} />, root);
}

void start();

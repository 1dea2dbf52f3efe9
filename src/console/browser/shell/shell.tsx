/** The frame of every room: navigation, theme, who is signed in. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import type { Place } from "../parts/router.js";
import { signOut, type Session } from "../parts/session.js";
import { tellFailure } from "../parts/toasts.js";
import { useData } from "../parts/use-data.js";
import type { SealStatus, User } from "../parts/records.js";
import { ThemeSwitch } from "./theme.js";

const ROOMS = [
  ["provers", "Provers"],
  ["queue", "Live queue"],
  ["vaults", "Vaults"],
  ["chain", "Chain"],
  ["people", "People"],
  ["audit", "Audit"],
  ["events", "Events"],
] as const;
const SEAL_EVERY_MS = 15_000;

/** The frame around a room. */
export function Shell({
  place,
  session,
  children,
}: {
  readonly place: Place;
  readonly session: Session;
  readonly children: ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  const room = place.words[0] ?? "provers";
  useEffect(() => {
    setOpen(false);
  }, [place.words.join("/")]);
  return (
    <div class="frame">
      <SkipLink />
      <header class="top">
        <a class="brand" href="#/provers">
          <Mark /> Proofwright
        </a>
        <button
          type="button"
          class="menu quiet"
          aria-expanded={isOpen}
          aria-controls="rooms"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
      </header>
      <aside id="rooms" class={isOpen ? "side open" : "side"}>
        <nav aria-label="Rooms">
          {ROOMS.map(([word, title]) => (
            <a key={word} href={`#/${word}`} aria-current={word === room ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <div class="foot">
          <SealNote />
          <Who session={session} />
          <ThemeSwitch />
          <p class="small">
            <a href="docs">API reference</a>
          </p>
        </div>
      </aside>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

/** The mark beside the name. */
export function Mark() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <rect width="32" height="32" rx="8" class="mark-ground" />
      <path d="M9 17l5 5 9-12" class="mark-line" />
    </svg>
  );
}

/** Says when the vault is sealed: most rooms do nothing then. */
function SealNote() {
  const { body } = useData<SealStatus>(API.sealStatus(), SEAL_EVERY_MS);
  if (body?.sealed !== true) return null;
  return (
    <p class="sealed" role="status">
      The vault is sealed. <a href="#/vaults/seal">Unseal it</a>
    </p>
  );
}

function Who({ session }: { readonly session: Session }) {
  const { body } = useData<User>(API.user([session.userId]));
  return (
    <div class="who">
      <span title={body?.email ?? session.userId}>{body?.name ?? "…"}</span>
      <button type="button" class="quiet" onClick={() => void signOut().catch(tellFailure)}>
        Sign out
      </button>
    </div>
  );
}

function SkipLink() {
  return (
    <a
      class="skip"
      href="#main"
      onClick={(event) => {
        event.preventDefault();
        document.querySelector<HTMLElement>("main")?.focus();
      }}
    >
      Skip to the content
    </a>
  );
}

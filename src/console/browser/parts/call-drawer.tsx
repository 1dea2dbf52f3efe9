/** The drawer that shows an action as curl and as code of the SDK. */
import { useEffect, useRef, useState } from "preact/hooks";
import { asCode, asCurl, type Call } from "./calls.js";
import { createStore, useStore } from "./store.js";
import { CopyButton } from "./copy.js";

const shown = createStore<Call | undefined>(undefined);

/** Shows a call in the drawer. */
export function showCall(call: Call): void {
  shown.set(call);
}

/** The button beside an action. The call is made when it is pressed, from what the form holds then. */
export function ShowCall({
  call,
  label = "Show the call",
}: {
  readonly call: () => Call | undefined;
  readonly label?: string;
}) {
  return (
    <button
      type="button"
      class="quiet code-button"
      title={label}
      onClick={() => {
        const made = call();
        if (made !== undefined) showCall(made);
      }}
    >
      <span aria-hidden="true">{"</>"}</span>
      <span class="code-word">{label}</span>
    </button>
  );
}

type Language = "curl" | "TypeScript";
const LANGUAGES: readonly Language[] = ["curl", "TypeScript"];

/** The drawer itself; once in the page. */
export function CallDrawer() {
  const call = useStore(shown);
  const dialog = useRef<HTMLDialogElement>(null);
  const [language, setLanguage] = useState<Language>("curl");
  useEffect(() => {
    if (call !== undefined && dialog.current?.open === false) dialog.current.showModal();
  }, [call]);
  const origin = location.origin;
  const text = call === undefined ? "" : language === "curl" ? asCurl(call, origin) : asCode(call, origin);
  return (
    <dialog ref={dialog} class="drawer" aria-label="The call" onClose={() => shown.set(undefined)}>
      <header>
        <h2>
          <span class="method">{call?.method}</span> <code>{call?.template}</code>
        </h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => dialog.current?.close()}>
          ✕
        </button>
      </header>
      <div class="row">
        <div class="segments" role="group" aria-label="Language">
          {LANGUAGES.map((name) => (
            <button type="button" key={name} aria-pressed={name === language} onClick={() => setLanguage(name)}>
              {name}
            </button>
          ))}
        </div>
        <CopyButton text={text} />
      </div>
      <pre tabIndex={0} aria-label={`The call in ${language}`}>
        {text}
      </pre>
      <p class="hint">
        Make a token for scripts under{" "}
        <a href="#/people/tokens" onClick={() => dialog.current?.close()}>
          People, tokens
        </a>
        . Every route is described in the <a href="docs">reference</a>.
      </p>
    </dialog>
  );
}

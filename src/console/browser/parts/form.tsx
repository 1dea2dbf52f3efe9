/** Forms that make a call of their fields, say what the server says, and show the call as code. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { sentenceOf, send } from "./api.js";
import { ShowCall } from "./call-drawer.js";
import type { Call } from "./calls.js";
import { tell, tellFailure } from "./toasts.js";

/** The fields of a form by name. */
export class Fields {
  readonly #data: FormData;

  constructor(form: HTMLFormElement) {
    this.#data = new FormData(form);
  }

  /** A field's text without spaces around it; empty for none. */
  text(name: string): string {
    const value = this.#data.get(name);
    return typeof value === "string" ? value.trim() : "";
  }

  /** A field's text as it is, spaces too. */
  exact(name: string): string {
    const value = this.#data.get(name);
    return typeof value === "string" ? value : "";
  }

  /** Whether a box is checked. */
  has(name: string): boolean {
    return this.#data.has(name);
  }

  /** A field's text as JSON. Throws Error with a sentence. */
  json(name: string, label: string): unknown {
    const text = this.text(name);
    if (text === "") return undefined;
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new Error(`${label} is not JSON: ${error instanceof Error ? error.message : ""}`, { cause: error });
    }
  }
}

interface FormProps<T> {
  readonly submit: string;
  /** Makes the call; throws Error with a sentence for fields that make none. */
  readonly call: (fields: Fields) => Call;
  readonly onDone: (body: T, form: HTMLFormElement) => void;
  readonly children?: ComponentChildren;
  readonly isDangerous?: boolean;
  /** In place of the user's token: the text of one that a field holds. */
  readonly token?: (fields: Fields) => string | null;
  readonly label?: string;
}

/** A form whose button sends a call. */
export function Form<T>({ submit, call, onDone, children, isDangerous = false, token, label }: FormProps<T>) {
  const form = useRef<HTMLFormElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string>();
  const made = (): Call | undefined => {
    if (form.current === null) return undefined;
    try {
      return call(new Fields(form.current));
    } catch (error) {
      setFailure(sentenceOf(error));
      return undefined;
    }
  };
  const run = async (): Promise<void> => {
    setFailure(undefined);
    const next = made();
    if (next === undefined || form.current === null) return;
    setBusy(true);
    try {
      const other = token?.(new Fields(form.current));
      const { body } = await send<T>(next, other === undefined ? {} : { token: other });
      onDone(body, form.current);
    } catch (error) {
      setFailure(sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      ref={form}
      aria-label={label ?? submit}
      onSubmit={(event) => {
        event.preventDefault();
        void run();
      }}
    >
      {children}
      {failure === undefined ? null : (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
      <div class="row actions">
        <button class={isDangerous ? "danger" : "main"} disabled={isBusy} aria-busy={isBusy}>
          {isBusy ? `${submit}…` : submit}
        </button>
        <ShowCall call={made} />
      </div>
    </form>
  );
}

interface CallButtonProps<T> {
  readonly label: string;
  readonly call: Call;
  readonly onDone?: (body: T) => void;
  /** The question before it. */
  readonly confirm?: string;
  /** What is said afterwards. */
  readonly done?: string;
}

/** A button that sends a call at once; asks before what cannot be undone. */
export function CallButton<T>({ label, call, onDone, confirm, done }: CallButtonProps<T>) {
  const [isBusy, setBusy] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const run = async (): Promise<void> => {
    setAsking(false);
    setBusy(true);
    try {
      const { body } = await send<T>(call);
      if (done !== undefined) tell(done);
      onDone?.(body);
    } catch (error) {
      tellFailure(error);
    } finally {
      setBusy(false);
    }
  };
  if (isAsking)
    return (
      <span class="asking" role="group" aria-label={confirm}>
        <span>{confirm}</span>
        <button type="button" class="danger" onClick={() => void run()}>
          {label}
        </button>
        <button type="button" class="quiet" onClick={() => setAsking(false)}>
          Keep
        </button>
      </span>
    );
  return (
    <span class="row tight">
      <button
        type="button"
        disabled={isBusy}
        onClick={() => {
          if (confirm === undefined) void run();
          else setAsking(true);
        }}
      >
        {isBusy ? `${label}…` : label}
      </button>
      <ShowCall call={() => call} label={`Show the call: ${label.toLowerCase()}`} />
    </span>
  );
}

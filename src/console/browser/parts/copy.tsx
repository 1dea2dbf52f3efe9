/** Texts that people take away: ids, addresses, proofs. */
import { useState } from "preact/hooks";
import { short } from "./format.js";
import { tellFailure } from "./toasts.js";

const SAID_MS = 1500;

/** Copies a text to the clipboard. */
export function CopyButton({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), SAID_MS);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy().catch(tellFailure)}>
      {isDone ? "Copied" : label}
    </button>
  );
}

/** A long text in short form; a click copies it whole. */
export function Id({
  text,
  head = 8,
  tail = 4,
}: {
  readonly text: string;
  readonly head?: number;
  readonly tail?: number;
}) {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), SAID_MS);
  };
  const shown = isDone ? "copied" : short(text, head, tail);
  // The name begins with what is seen, as voice control needs it.
  const label = shown === text ? `Copy ${text}` : `Copy ${shown}, in full ${text}`;
  return (
    <button
      type="button"
      class="id"
      title={`${text} (click to copy)`}
      aria-label={label}
      onClick={() => void copy().catch(tellFailure)}
    >
      {shown}
    </button>
  );
}

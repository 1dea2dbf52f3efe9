/** Short notices that go by themselves; failures stay until they are read. */
import { useEffect } from "preact/hooks";
import { sentenceOf } from "./api.js";
import { createStore, useStore } from "./store.js";

interface Toast {
  readonly id: number;
  readonly tone: "good" | "bad";
  readonly text: string;
}

const SHOWN_MS = 4500;
const toasts = createStore<readonly Toast[]>([]);
let last = 0;

/** Says that something went well. */
export function tell(text: string): void {
  add("good", text);
}

/** Says what failed, in the server's words. */
export function tellFailure(error: unknown): void {
  add("bad", sentenceOf(error));
}

function add(tone: Toast["tone"], text: string): void {
  last += 1;
  toasts.set([
    ...toasts
      .get()
      .filter((toast) => toast.text !== text)
      .slice(-3),
    { id: last, tone, text },
  ]);
}

function drop(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

/** The place where notices appear. */
export function Toasts() {
  const shown = useStore(toasts);
  return (
    <div class="toasts" role="region" aria-label="Notices" aria-live="polite">
      {shown.map((toast) => (
        <OneToast key={toast.id} {...toast} />
      ))}
    </div>
  );
}

function OneToast({ id, tone, text }: Toast) {
  useEffect(() => {
    if (tone === "bad") return;
    const timer = setTimeout(() => {
      drop(id);
    }, SHOWN_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [id, tone]);
  return (
    <div class={`toast ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      <span>{text}</span>
      <button type="button" class="quiet" aria-label="Dismiss" onClick={() => drop(id)}>
        ✕
      </button>
    </div>
  );
}

/** The building blocks of every room: heads, tables, fields, states. */
import { cloneElement, type ComponentChildren, type VNode } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import type { Call } from "./calls.js";
import { ShowCall } from "./call-drawer.js";
import { ago } from "./format.js";
import type { Data } from "./use-data.js";

interface WithChildren {
  readonly children?: ComponentChildren;
}

/** The head of a room: where one is, what can be done, and the call behind what is shown. */
export function Head({
  title,
  above,
  call,
  children,
}: WithChildren & { readonly title: string; readonly above?: ComponentChildren; readonly call?: Call | undefined }) {
  useEffect(() => {
    document.title = `${title} · Proofwright`;
  }, [title]);
  return (
    <header class="head">
      <div>
        {above === undefined ? null : <p class="above">{above}</p>}
        <h1>{title}</h1>
      </div>
      <div class="row">
        {children}
        {call === undefined ? null : <ShowCall call={() => call} />}
      </div>
    </header>
  );
}

/** A part of a room under a title. */
export function Panel({
  title,
  aside,
  children,
}: WithChildren & { readonly title?: string; readonly aside?: ComponentChildren }) {
  return (
    <section class="panel">
      {title === undefined ? null : (
        <header>
          <h2>{title}</h2>
          <div class="row">{aside}</div>
        </header>
      )}
      {children}
    </section>
  );
}

const GOOD = [
  "provisioned",
  "running",
  "listening",
  "success",
  "confirmed",
  "deployed",
  "ready",
  "ok",
  "verified",
  "up",
  "registered",
  "unsealed",
];
const BAD = ["failed", "unreachable", "mismatch", "refused", "sealed", "down", "error", "rejected"];
const STILL = ["disabled", "unconfigured", "cancelled", "replaced", "none"];

/** A state in a word; the colour never says more than the word. */
export function Badge({ word }: { readonly word: string }) {
  const tone = GOOD.includes(word) ? "good" : BAD.includes(word) ? "bad" : STILL.includes(word) ? "still" : "busy";
  return <span class={`badge ${tone}`}>{word.replaceAll("_", " ")}</span>;
}

/** A time as how long ago it was; the exact one when pointed at. */
export function Ago({ at }: { readonly at: string }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000);
    return () => {
      clearInterval(timer);
    };
  }, []);
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {ago(at, now)}
    </time>
  );
}

/** What is there before anything is: what the room is for, and how to begin. */
export function Empty({ title, children }: WithChildren & { readonly title: string }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Names with values. */
export function Facts({ rows }: { readonly rows: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? "–"}</dd>
        </div>
      ))}
    </dl>
  );
}

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly isNumber?: boolean;
}

/** Rows of records; scrolls sideways where it is wider than the page. */
export function Table<T extends object>({
  label,
  rows,
  columns,
  keyOf,
}: {
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly keyOf: (row: T) => string | number;
}) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber === true ? "number" : ""}>
                {title === "" ? <span class="hidden">Actions</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, cell, isNumber }) => (
                <td key={title} class={isNumber === true ? "number" : ""}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What a call brought: its failure, a sign that it is under way, the empty state, or the content. */
export function Loaded<T>({
  data,
  empty,
  children,
}: {
  readonly data: Data<T>;
  readonly empty?: ComponentChildren;
  readonly children: (body: T) => ComponentChildren;
}) {
  if (data.body === undefined) {
    if (data.error === undefined) return <p class="waiting">Loading…</p>;
    return (
      <div class="failure" role="alert">
        <p>{data.error}</p>
        <button type="button" onClick={data.reload}>
          Try again
        </button>
      </div>
    );
  }
  if (empty !== undefined && Array.isArray(data.body) && data.body.length === 0) return <>{empty}</>;
  return <>{children(data.body)}</>;
}

/** A labelled field with a line of help, which is its description and no part of its name. */
export function Field({
  label,
  hint,
  children,
}: {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly children: VNode<{ "aria-describedby"?: string }>;
}) {
  const id = useId();
  return (
    <div class="field">
      <label>
        <span>{label}</span>
        {hint === undefined ? children : cloneElement(children, { "aria-describedby": id })}
      </label>
      {hint === undefined ? null : <small id={id}>{hint}</small>}
    </div>
  );
}

/** A choice among words. */
export function Choice({
  name,
  options,
  value,
  onChange,
}: {
  readonly name: string;
  readonly options: readonly (string | readonly [value: string, label: string])[];
  readonly value?: string;
  readonly onChange?: (value: string) => void;
}) {
  return (
    <select
      name={name}
      {...(value === undefined ? {} : { value })}
      onChange={(event) => onChange?.(event.currentTarget.value)}
    >
      {options.map((option) => {
        const [own, label] = typeof option === "string" ? [option, option] : option;
        return (
          <option key={own} value={own}>
            {label}
          </option>
        );
      })}
    </select>
  );
}

/** Tabs of a room, each with an address of its own. */
export function Tabs({
  label,
  base,
  tabs,
  current,
}: {
  readonly label: string;
  readonly base: string;
  readonly tabs: readonly (readonly [word: string, title: string])[];
  readonly current: string;
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(([word, title]) => (
        <a
          key={word}
          href={`#${base}${word === "" ? "" : `/${word}`}`}
          aria-current={word === current ? "page" : undefined}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}

/** How far something is. */
export function Progress({ share, label }: { readonly share: number; readonly label: string }) {
  return (
    <div class="progress">
      <progress max={1} value={share} aria-label={label} />
      <span>{label}</span>
    </div>
  );
}

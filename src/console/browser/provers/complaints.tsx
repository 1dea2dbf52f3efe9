/** Errors and warnings of the compiler, each with the line of the source that it is about. */
import { API } from "../parts/api-calls.js";
import type { Complaint } from "../parts/records.js";
import { Panel } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";

interface Source {
  readonly files?: Readonly<Record<string, string>>;
}

/** The complaints; nothing for none. */
export function Complaints({
  title,
  list,
  proverId,
  tone,
}: {
  readonly title: string;
  readonly list: readonly Complaint[];
  readonly proverId: string;
  readonly tone: "bad" | "warn";
}) {
  const hasLines = list.some(({ line }) => line !== undefined);
  const source = useData<Source>(hasLines ? API.source([proverId]) : undefined);
  if (list.length === 0) return null;
  return (
    <Panel title={title}>
      <ul class="complaints">
        {list.map((complaint, index) => (
          <li key={index} class={tone}>
            <p>
              {complaint.message} <code>{complaint.code}</code>
            </p>
            {complaint.line === undefined ? null : (
              <pre tabIndex={0} aria-label={`Source of ${complaint.file ?? "the circuit"}`}>
                {complaint.file ?? "source"}:{complaint.line}
                {"\n"}
                {lineOf(source.body, complaint)}
              </pre>
            )}
            {(complaint.notes ?? []).map((note) => (
              <p key={note} class="hint">
                {note}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function lineOf(source: Source | undefined, { file, line = 0, column }: Complaint): string {
  const files = source?.files ?? {};
  const text =
    file === undefined
      ? Object.values(files)[0]
      : (files[file] ?? Object.entries(files).find(([path]) => file.endsWith(path))?.[1]);
  const shown = text?.split("\n")[line - 1];
  if (shown === undefined) return "";
  return column === undefined ? shown : `${shown}\n${" ".repeat(Math.max(0, column - 1))}^`;
}

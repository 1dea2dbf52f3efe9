/** The fields of a circuit's inputs, filled in by hand or with an example. */
import type { InputField } from "./interface-form.js";
import { Field } from "../parts/ui.js";

/** One field for each input. */
export function InputFields({
  fields,
  texts,
  onText,
}: {
  readonly fields: readonly InputField[];
  readonly texts: Readonly<Record<string, string>>;
  readonly onText: (name: string, text: string) => void;
}) {
  return (
    <>
      {fields.map(({ name, kind, hint, visibility }) => (
        <Field key={name} label={`${name}${visibility === "public" ? " (public)" : ""}`} hint={hint}>
          {kind === "number" ? (
            <input
              class="code"
              autocomplete="off"
              spellcheck={false}
              value={texts[name] ?? ""}
              onInput={(event) => onText(name, event.currentTarget.value)}
            />
          ) : (
            <textarea
              class="code"
              rows={4}
              spellcheck={false}
              value={texts[name] ?? ""}
              onInput={(event) => onText(name, event.currentTarget.value)}
            />
          )}
        </Field>
      ))}
    </>
  );
}

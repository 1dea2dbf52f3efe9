/** Verifies a proof that somebody brings. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { Form } from "../parts/form.js";
import type { Prover } from "../parts/records.js";
import { Badge, Field, Panel } from "../parts/ui.js";
import { InputFields } from "./input-fields.js";
import { inputFields, type CircuitInterface } from "./interface-form.js";
import { witnessOf } from "./prove-tab.js";

/** The page. */
export function VerifyTab({ prover, circuit }: { readonly prover: Prover; readonly circuit: CircuitInterface }) {
  const fields = inputFields(circuit).filter(({ visibility }) => visibility === "public");
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [result, setResult] = useState<boolean>();
  const hasOutputs = circuit.outputCount > 0;
  return (
    <Panel title="A proof from elsewhere">
      <Form<{ result: boolean }>
        submit="Verify"
        call={(form) => {
          setResult(undefined);
          const proof = form.text("proof");
          const signals = form.json("public_signals", "Public signals");
          return API.verify([prover.id], {
            proof: proof.startsWith("{") ? form.json("proof", "The proof") : proof,
            ...(signals === undefined ? { witness: witnessOf(fields, texts) } : { public_signals: signals }),
          });
        }}
        onDone={(body) => setResult(body.result)}
      >
        <Field label="Proof" hint="Hexadecimal as this server makes it, or JSON of snarkjs.">
          <textarea name="proof" class="code" rows={6} required spellcheck={false} />
        </Field>
        {hasOutputs ? null : (
          <InputFields
            fields={fields}
            texts={texts}
            onText={(name, text) => setTexts((before) => ({ ...before, [name]: text }))}
          />
        )}
        <Field
          label="Public signals"
          hint={hasOutputs ? "A JSON list, outputs first." : "A JSON list, in place of the fields above."}
        >
          <textarea name="public_signals" class="code" rows={2} spellcheck={false} required={hasOutputs} />
        </Field>
      </Form>
      <div aria-live="polite">
        {result === undefined ? null : (
          <p class="result">
            <Badge word={result ? "verified" : "rejected"} />{" "}
            {result
              ? "The proof is valid for these public signals."
              : "The proof is not valid for these public signals."}
          </p>
        )}
      </div>
    </Panel>
  );
}

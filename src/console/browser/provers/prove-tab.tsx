/** Makes a proof of inputs, from a form that the circuit's interface gives. */
import { useRef, useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { CopyButton, Id } from "../parts/copy.js";
import { CallButton, Form } from "../parts/form.js";
import { bytes, duration } from "../parts/format.js";
import type { MadeProof, Prover } from "../parts/records.js";
import { Badge, Facts, Panel } from "../parts/ui.js";
import { BUILT_INS } from "./built-in-circuits.js";
import { InputFields } from "./input-fields.js";
import { inputFields, inputText, inputValue, type CircuitInterface, type InputField } from "./interface-form.js";

/** The witness that the fields' texts stand for. Throws Error with a sentence. */
export function witnessOf(fields: readonly InputField[], texts: Readonly<Record<string, string>>): object {
  return Object.fromEntries(fields.map((field) => [field.name, inputValue(field, texts[field.name] ?? "")]));
}

/** The page. */
export function ProveTab({ prover, circuit }: { readonly prover: Prover; readonly circuit: CircuitInterface }) {
  const fields = inputFields(circuit);
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [made, setMade] = useState<MadeProof>();
  const [tookMs, setTookMs] = useState(0);
  const beganMs = useRef(0);
  const example = BUILT_INS.find(({ identifier }) => identifier === prover.identifier)?.example;
  return (
    <div class="columns">
      <Panel
        title="Inputs"
        aside={
          example === undefined ? null : (
            <button
              type="button"
              onClick={() =>
                setTexts(Object.fromEntries(Object.entries(example).map(([name, value]) => [name, inputText(value)])))
              }
            >
              Fill in an example
            </button>
          )
        }
      >
        <Form<MadeProof>
          submit="Prove"
          call={() => {
            beganMs.current = performance.now();
            return API.prove([prover.id], { witness: witnessOf(fields, texts) });
          }}
          onDone={(body) => {
            setTookMs(performance.now() - beganMs.current);
            setMade(body);
          }}
        >
          <InputFields
            fields={fields}
            texts={texts}
            onText={(name, text) => setTexts((before) => ({ ...before, [name]: text }))}
          />
        </Form>
      </Panel>
      {made === undefined ? (
        <Panel title="Proof">
          <p class="hint">
            The proof appears here. It shows that you know inputs which satisfy the circuit; whoever has it learns the
            public signals and nothing else.
          </p>
        </Panel>
      ) : (
        <Made proof={made} tookMs={tookMs} />
      )}
    </div>
  );
}

function Made({ proof, tookMs }: { readonly proof: MadeProof; readonly tookMs: number }) {
  const [result, setResult] = useState<boolean>();
  const { timings } = proof;
  const call = API.verify([proof.prover_id], { proof: proof.proof, public_signals: proof.public_signals });
  return (
    <Panel title="Proof" aside={<CopyButton text={proof.proof} label="Copy the proof" />}>
      <textarea class="code" rows={6} readOnly aria-label="The proof" value={proof.proof} />
      <Facts
        rows={[
          ["Size", bytes(proof.bytes)],
          ["Public signals", <Signals list={proof.public_signals} />],
          ["Witness", timings === null ? "–" : duration(timings.witness_ms)],
          ["Proof", timings === null ? "–" : duration(timings.prove_ms)],
          ["Self-check", timings === null ? "–" : duration(timings.check_ms)],
          ["From here and back", duration(tookMs)],
          ["Note", `number ${String(proof.note_index)}`],
        ]}
      />
      <div class="row actions" aria-live="polite">
        <CallButton<{ result: boolean }>
          key={proof.id}
          label="Verify it"
          call={call}
          onDone={(body) => setResult(body.result)}
        />
        {result === undefined ? null : <Badge word={result ? "verified" : "rejected"} />}
      </div>
    </Panel>
  );
}

/** Field elements, short. */
export function Signals({ list }: { readonly list: readonly string[] }) {
  const shown = list.slice(0, 8);
  return (
    <span class="row tight">
      {shown.map((text, index) => (
        <Id key={index} text={text} head={14} tail={6} />
      ))}
      {list.length > shown.length ? `and ${String(list.length - shown.length)} more` : null}
    </span>
  );
}

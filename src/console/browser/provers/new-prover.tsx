/** A new prover: from a built-in circuit, from dropped files, or from pasted text. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { sentenceOf } from "../parts/api.js";
import type { Call } from "../parts/calls.js";
import { Form, type Fields } from "../parts/form.js";
import { bytes, count } from "../parts/format.js";
import type { Prover } from "../parts/records.js";
import { go, usePlace } from "../parts/router.js";
import { Choice, Field, Head, Panel } from "../parts/ui.js";
import { BUILT_INS } from "./built-in-circuits.js";
import { filesOfDrop, filesOfInput } from "./dropped-files.js";
import { packFiles, type DroppedFile, type PackedSource } from "./folder-packing.js";

const EXAMPLE = `pragma circom 2.1.0;

// Proves that one knows two factors of a number.
template Product() {
    signal input a;
    signal input b;
    signal output product;
    product <== a * b;
}

component main = Product();
`;
const SYSTEMS = [
  ["groth16/BN254", "Groth16 on BN254: the smallest proofs"],
  ["groth16/BLS12_381", "Groth16 on BLS12-381"],
  ["plonk/BN254", "PLONK on BN254: one setup for all circuits"],
  ["plonk/BLS12_381", "PLONK on BLS12-381"],
  ["fflonk/BN254", "FFLONK on BN254: cheap to verify on chain"],
] as const;

/** The page. */
export function NewProver() {
  const { query } = usePlace();
  const wanted = query.get("circuit");
  const [circuit, setCircuit] = useState(wanted ?? "");
  const [packed, setPacked] = useState<PackedSource>();
  return (
    <>
      <Head title="New prover" above={<a href="#/provers">Provers</a>} />
      <div class="columns">
        <div>
          <OwnCircuit
            packed={packed}
            onPacked={(next) => {
              setPacked(next);
              setCircuit("");
            }}
          />
          <Panel title="Or a built-in circuit">
            <div class="cards" role="radiogroup" aria-label="Built-in circuits">
              {BUILT_INS.map(({ identifier, says, constraints }) => (
                <button
                  type="button"
                  key={identifier}
                  role="radio"
                  aria-checked={circuit === identifier}
                  onClick={() => {
                    setCircuit(identifier);
                    setPacked(undefined);
                  }}
                >
                  <code>{identifier}</code>
                  <span>Knows {says}</span>
                  <small>{count(constraints)} constraints</small>
                </button>
              ))}
            </div>
          </Panel>
        </div>
        <Settings circuit={circuit} packed={packed} />
      </div>
    </>
  );
}

function Settings({ circuit, packed }: { readonly circuit: string; readonly packed: PackedSource | undefined }) {
  const name = packed === undefined ? circuit : (packed.main.split("/").at(-1) ?? "").replace(/\.circom$/, "");
  const chosen = packed === undefined ? circuit : packed.main;
  return (
    <Panel title="Its keys">
      <Form<Prover>
        submit="Create prover"
        call={(fields) => createCall(fields, circuit, packed)}
        onDone={({ id }) => go(`/provers/${id}`)}
      >
        <p class={chosen === "" ? "hint" : "chosen"}>
          {chosen === "" ? "Drop a circuit, paste one, or choose a built-in one." : <code>{chosen}</code>}
        </p>
        {packed === undefined || packed.others.length === 0 ? null : (
          <Field label="Main file" hint="Several files have a main component.">
            <Choice name="main" options={[packed.main, ...packed.others]} />
          </Field>
        )}
        <Field label="Name">
          <input key={name} name="name" defaultValue={name} maxLength={200} autocomplete="off" />
        </Field>
        <Field label="Scheme">
          <Choice name="system" options={SYSTEMS} />
        </Field>
        <details>
          <summary>More</summary>
          <Field label="Optimisation" hint="Of circom: 2 leaves the fewest constraints.">
            <Choice
              name="optimization"
              options={[
                ["", "as the server has it"],
                ["0", "0: none"],
                ["1", "1: simple"],
                ["2", "2: full"],
              ]}
            />
          </Field>
          <Field label="Tags" hint="Words with spaces between.">
            <input name="tags" autocomplete="off" />
          </Field>
          <label class="check">
            <input type="checkbox" name="strict" /> Refuse a circuit whose inputs do not fix every signal
          </label>
        </details>
      </Form>
    </Panel>
  );
}

function createCall(fields: Fields, circuit: string, packed: PackedSource | undefined): Call {
  if (circuit === "" && packed === undefined)
    throw new Error("Choose a circuit first: drop a file, paste text, or pick a built-in one.");
  const [scheme = "", curve = ""] = fields.text("system").split("/");
  const optimization = fields.text("optimization");
  const tags = fields
    .text("tags")
    .split(/\s+/)
    .filter((tag) => tag !== "");
  const main = fields.text("main");
  return API.createProver([], {
    ...(packed === undefined
      ? { identifier: circuit }
      : { source: packed.source, main: main === "" ? packed.main : main }),
    proving_scheme: scheme,
    curve,
    provider: "circom",
    ...(fields.text("name") === "" ? {} : { name: fields.text("name") }),
    ...(optimization === "" ? {} : { options: { optimization: Number(optimization) } }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(fields.has("strict") ? { strict: true } : {}),
  });
}

function OwnCircuit({
  packed,
  onPacked,
}: {
  readonly packed: PackedSource | undefined;
  readonly onPacked: (packed: PackedSource | undefined) => void;
}) {
  const [failure, setFailure] = useState<string>();
  const [isOver, setOver] = useState(false);
  const take = async (reading: Promise<DroppedFile[]>): Promise<void> => {
    try {
      onPacked(packFiles(await reading));
      setFailure(undefined);
    } catch (error) {
      onPacked(undefined);
      setFailure(sentenceOf(error));
    }
  };
  return (
    <Panel title="Your circuit">
      <div
        class={isOver ? "drop over" : "drop"}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          if (event.dataTransfer !== null) void take(filesOfDrop(event.dataTransfer));
        }}
      >
        <p>Drop a .circom file or a folder here</p>
        <div class="row">
          <FileButton label="Choose files" onFiles={(list) => void take(filesOfInput(list))} />
          <FileButton label="Choose a folder" isFolder onFiles={(list) => void take(filesOfInput(list))} />
        </div>
      </div>
      {failure === undefined ? null : (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
      {packed === undefined ? null : <PackedFiles packed={packed} />}
      <PastedText onFiles={(files) => void take(Promise.resolve(files))} />
    </Panel>
  );
}

function PackedFiles({ packed }: { readonly packed: PackedSource }) {
  return (
    <ul class="files">
      {Object.entries(packed.source).map(([path, text]) => (
        <li key={path}>
          <code>{path}</code> <small>{bytes(text.length)}</small>{" "}
          {path === packed.main ? <span class="badge good">main</span> : null}
        </li>
      ))}
    </ul>
  );
}

function FileButton({
  label,
  isFolder = false,
  onFiles,
}: {
  readonly label: string;
  readonly isFolder?: boolean;
  readonly onFiles: (list: FileList) => void;
}) {
  return (
    <label class="button file">
      {label}
      <input
        type="file"
        class="hidden"
        multiple
        {...(isFolder ? { webkitdirectory: true } : { accept: ".circom" })}
        onChange={(event) => {
          if (event.currentTarget.files !== null) onFiles(event.currentTarget.files);
        }}
      />
    </label>
  );
}

function PastedText({ onFiles }: { readonly onFiles: (files: DroppedFile[]) => void }) {
  return (
    <details>
      <summary>Paste text</summary>
      <Field label="Text of the circuit">
        <textarea
          rows={12}
          class="code"
          spellcheck={false}
          placeholder={EXAMPLE}
          onInput={(event) => {
            const text = event.currentTarget.value;
            if (text.trim() !== "") onFiles([{ path: "circuit.circom", text }]);
          }}
        />
      </Field>
      <button type="button" onClick={() => onFiles([{ path: "product.circom", text: EXAMPLE }])}>
        Use the example
      </button>
    </details>
  );
}

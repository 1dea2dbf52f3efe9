/** The secrets of a vault. A value is read on demand, and shown until it is hidden again. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { CopyButton } from "../parts/copy.js";
import { CallButton, Form } from "../parts/form.js";
import type { Secret } from "../parts/records.js";
import { tell } from "../parts/toasts.js";
import { Ago, Empty, Field, Loaded, Panel, Table } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";

const LIST_MAX = 100;

interface Revealed {
  readonly name: string;
  readonly value: string;
}

/** The tab. */
export function SecretsTab({ vaultId }: { readonly vaultId: string }) {
  const data = useData<readonly Secret[]>(API.secrets([vaultId], undefined, { rpp: LIST_MAX }));
  const [revealed, setRevealed] = useState<Revealed>();
  return (
    <div class="columns wide">
      <div>
        {revealed === undefined ? null : <Value secret={revealed} onHide={() => setRevealed(undefined)} />}
        <Panel title="Secrets">
          <Loaded
            data={data}
            empty={
              <Empty title="No secret yet">Passwords, tokens, certificates: kept encrypted, and never listed.</Empty>
            }
          >
            {(rows) => <Rows rows={rows} vaultId={vaultId} onReveal={setRevealed} onChange={data.reload} />}
          </Loaded>
        </Panel>
      </div>
      <NewSecret vaultId={vaultId} onDone={data.reload} />
    </div>
  );
}

function Value({ secret, onHide }: { readonly secret: Revealed; readonly onHide: () => void }) {
  return (
    <Panel
      title={secret.name}
      aside={
        <>
          <CopyButton text={secret.value} />
          <button type="button" onClick={onHide}>
            Hide
          </button>
        </>
      }
    >
      <pre class="wrap" tabIndex={0} aria-label="Value">
        {secret.value}
      </pre>
    </Panel>
  );
}

function Rows({
  rows,
  vaultId,
  onReveal,
  onChange,
}: {
  readonly rows: readonly Secret[];
  readonly vaultId: string;
  readonly onReveal: (secret: Revealed) => void;
  readonly onChange: () => void;
}) {
  return (
    <Table
      label="Secrets"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { title: "Name", cell: ({ name }) => name },
        { title: "Type", cell: ({ type }) => type },
        { title: "Created", cell: ({ created_at }) => <Ago at={created_at} /> },
        {
          title: "",
          cell: ({ id }) => (
            <span class="row tight">
              <CallButton<Revealed> label="Reveal" call={API.secret([vaultId, id])} onDone={onReveal} />
              <CallButton
                label="Delete"
                confirm="Delete it for good?"
                call={API.deleteSecret([vaultId, id])}
                onDone={onChange}
              />
            </span>
          ),
        },
      ]}
    />
  );
}

function NewSecret({ vaultId, onDone }: { readonly vaultId: string; readonly onDone: () => void }) {
  return (
    <Panel title="New secret">
      <Form<Secret>
        submit="Store secret"
        call={(fields) =>
          API.createSecret([vaultId], {
            name: fields.text("name"),
            type: fields.text("type"),
            description: fields.text("description"),
            value: fields.exact("value"),
          })
        }
        onDone={(_, form) => {
          form.reset();
          tell("The secret is stored.");
          onDone();
        }}
      >
        <Field label="Name">
          <input name="name" required maxLength={200} autocomplete="off" />
        </Field>
        <Field label="Type" hint="A word of your own, such as password.">
          <input name="type" required maxLength={100} defaultValue="password" autocomplete="off" />
        </Field>
        <Field label="Description">
          <input name="description" autocomplete="off" />
        </Field>
        <Field label="Value">
          <textarea name="value" class="code" rows={4} required spellcheck={false} autocomplete="off" />
        </Field>
      </Form>
    </Panel>
  );
}

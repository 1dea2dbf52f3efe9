/** The room of the vaults: the list, one of them, the seal. */
import { API } from "../parts/api-calls.js";
import { Form } from "../parts/form.js";
import type { Vault } from "../parts/records.js";
import { go } from "../parts/router.js";
import { Ago, Empty, Field, Head, Loaded, Panel, Table, Tabs } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { SealPage } from "./seal-page.js";
import { VaultPage } from "./vault-page.js";
import { VAULT_TABS } from "./vault-words.js";

const LIST_MAX = 100;

/** Shows the page that the address names. */
export function VaultsRoom({ words }: { readonly words: readonly string[] }) {
  const [first, second = "", third] = words;
  if (first === undefined) return <VaultList />;
  if (first === "seal") return <SealPage />;
  return <VaultPage key={first} id={first} tab={second} keyId={third} />;
}

function VaultList() {
  const call = API.vaults([], undefined, { rpp: LIST_MAX });
  const data = useData<readonly Vault[]>(call);
  return (
    <>
      <Head title="Vaults" call={call} />
      <Tabs label="Vaults" base="/vaults" tabs={VAULT_TABS} current="" />
      <Loaded
        data={data}
        empty={
          <Empty title="A vault keeps keys and secrets">
            <p>
              Keys are made in the vault and never leave it: programs ask it to sign, to encrypt, to derive. Make one to
              begin.
            </p>
          </Empty>
        }
      >
        {(rows) => (
          <Table
            label="Vaults"
            rows={rows}
            keyOf={({ id }) => id}
            columns={[
              { title: "Name", cell: ({ id, name }) => <a href={`#/vaults/${id}`}>{name}</a> },
              { title: "Description", cell: ({ description }) => description },
              { title: "Created", cell: ({ created_at }) => <Ago at={created_at} /> },
            ]}
          />
        )}
      </Loaded>
      <Panel title="New vault">
        <Form<Vault>
          submit="Create vault"
          call={(fields) => API.createVault([], { name: fields.text("name"), description: fields.text("description") })}
          onDone={({ id }) => go(`/vaults/${id}`)}
        >
          <div class="pair">
            <Field label="Name">
              <input name="name" required maxLength={200} autocomplete="off" />
            </Field>
            <Field label="Description">
              <input name="description" maxLength={1000} autocomplete="off" />
            </Field>
          </div>
        </Form>
      </Panel>
    </>
  );
}

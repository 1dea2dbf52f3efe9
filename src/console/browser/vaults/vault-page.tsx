/** One vault: its keys and its secrets. */
import { API } from "../parts/api-calls.js";
import { Id } from "../parts/copy.js";
import { CallButton, Form } from "../parts/form.js";
import type { Key, Vault } from "../parts/records.js";
import { go } from "../parts/router.js";
import { tell } from "../parts/toasts.js";
import { Ago, Badge, Choice, Empty, Field, Head, Loaded, Panel, Table, Tabs } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { KeyPage } from "./key-page.js";
import { SecretsTab } from "./secrets-tab.js";
import { stateOf } from "./vault-words.js";

const LIST_MAX = 100;
const SPECS = [
  ["secp256k1", "secp256k1: Ethereum and Bitcoin"],
  ["Ed25519", "Ed25519: fast signatures"],
  ["P-256", "P-256: signatures for the web"],
  ["BIP39", "BIP39: a wallet with derived addresses"],
  ["babyJubJub", "Baby Jubjub: signatures inside circuits"],
  ["BLS12-381", "BLS12-381: signatures that add up"],
  ["RSA-2048", "RSA-2048"],
  ["RSA-3072", "RSA-3072"],
  ["RSA-4096", "RSA-4096"],
  ["C25519", "C25519: key agreement"],
  ["AES-256-GCM", "AES-256-GCM: encryption"],
  ["ChaCha20", "ChaCha20: encryption"],
] as const;

/** The page. */
export function VaultPage({
  id,
  tab,
  keyId,
}: {
  readonly id: string;
  readonly tab: string;
  readonly keyId: string | undefined;
}) {
  const call = API.vault([id]);
  const data = useData<Vault>(call);
  const name = data.body?.name ?? "Vault";
  if (tab === "keys" && keyId !== undefined) return <KeyPage vaultId={id} vaultName={name} keyId={keyId} />;
  return (
    <>
      <Head title={name} above={<a href="#/vaults">Vaults</a>} call={call}>
        <CallButton
          label="Delete vault"
          confirm="Delete the vault with all its keys and secrets?"
          call={API.deleteVault([id])}
          done="The vault is deleted."
          onDone={() => go("/vaults")}
        />
      </Head>
      <Tabs
        label="Vault"
        base={`/vaults/${id}`}
        tabs={[
          ["", "Keys"],
          ["secrets", "Secrets"],
        ]}
        current={tab}
      />
      {tab === "secrets" ? <SecretsTab vaultId={id} /> : <KeysTab vaultId={id} />}
    </>
  );
}

function KeysTab({ vaultId }: { readonly vaultId: string }) {
  const data = useData<readonly Key[]>(API.keys([vaultId], undefined, { rpp: LIST_MAX }));
  return (
    <div class="columns wide">
      <Panel title="Keys">
        <Loaded
          data={data}
          empty={<Empty title="No key yet">Make one beside. Its private part is never shown, not even to you.</Empty>}
        >
          {(rows) => (
            <Table
              label="Keys"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: "Name", cell: ({ id, name }) => <a href={`#/vaults/${vaultId}/keys/${id}`}>{name}</a> },
                { title: "Spec", cell: ({ spec }) => <code>{spec}</code> },
                { title: "Usage", cell: ({ usage }) => usage },
                { title: "Address", cell: ({ address }) => (address === undefined ? "" : <Id text={address} />) },
                { title: "State", cell: (key) => <Badge word={stateOf(key)} /> },
                { title: "Created", cell: ({ created_at }) => <Ago at={created_at} /> },
              ]}
            />
          )}
        </Loaded>
      </Panel>
      <Panel title="New key">
        <Form<Key>
          submit="Create key"
          call={(fields) =>
            API.createKey([vaultId], {
              name: fields.text("name"),
              spec: fields.text("spec"),
              description: fields.text("description"),
            })
          }
          onDone={({ name }, form) => {
            form.reset();
            tell(`The key ${name} is made.`);
            data.reload();
          }}
        >
          <Field label="Name">
            <input name="name" required maxLength={200} autocomplete="off" />
          </Field>
          <Field label="Spec">
            <Choice name="spec" options={SPECS} />
          </Field>
          <Field label="Description">
            <input name="description" maxLength={1000} autocomplete="off" />
          </Field>
        </Form>
      </Panel>
    </div>
  );
}

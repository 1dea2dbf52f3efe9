/** Seals and unseals the vault. The seal key is typed in, sent, and kept nowhere here. */
import { API } from "../parts/api-calls.js";
import { Form } from "../parts/form.js";
import type { SealStatus } from "../parts/records.js";
import { tell } from "../parts/toasts.js";
import { Badge, Facts, Field, Head, Loaded, Panel, Tabs } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { VAULT_TABS } from "./vault-words.js";

const EVERY_MS = 5000;

/** The page. */
export function SealPage() {
  const call = API.sealStatus();
  const data = useData<SealStatus>(call, EVERY_MS);
  return (
    <>
      <Head title="Seal" call={call} />
      <Tabs label="Vaults" base="/vaults" tabs={VAULT_TABS} current="seal" />
      <Loaded data={data}>
        {(status) => (
          <div class="columns">
            <Panel title="State">
              <p class="result">
                <Badge word={status.sealed ? "sealed" : "unsealed"} />
              </p>
              <p>
                {status.sealed
                  ? "No key is in memory. Everything that needs the vault answers that it is sealed, until somebody unseals it."
                  : "The vault answers. Sealing it drops every key from memory at once."}
              </p>
              <Facts
                rows={[
                  ["Provider of the seal key", status.provider],
                  ["Ever unsealed", status.initialised ? "yes" : "no"],
                ]}
              />
            </Panel>
            <SealForm isSealed={status.sealed} onDone={data.reload} />
          </div>
        )}
      </Loaded>
    </>
  );
}

function SealForm({ isSealed, onDone }: { readonly isSealed: boolean; readonly onDone: () => void }) {
  const maker = isSealed ? API.unseal : API.seal;
  return (
    <Panel title={isSealed ? "Unseal" : "Seal"}>
      <Form
        key={String(isSealed)}
        submit={isSealed ? "Unseal the vault" : "Seal the vault"}
        isDangerous={!isSealed}
        call={(fields) => {
          const key = fields.text("key").split(/\s+/).join(" ");
          return maker([], key === "" ? {} : { key });
        }}
        onDone={(_, form) => {
          form.reset();
          tell(isSealed ? "The vault is unsealed." : "The vault is sealed.");
          onDone();
        }}
      >
        <Field
          label="Seal key"
          hint="The words that were shown when the seal was set up. Leave it empty where a key service or a mounted file holds the key. Needs the permission to seal or unseal, which administrators have."
        >
          <input type="password" name="key" autocomplete="off" spellcheck={false} />
        </Field>
      </Form>
    </Panel>
  );
}

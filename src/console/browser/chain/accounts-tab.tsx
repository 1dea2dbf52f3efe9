/** The user's accounts with their balances. */
import { API } from "../parts/api-calls.js";
import { ShowCall } from "../parts/call-drawer.js";
import { Id } from "../parts/copy.js";
import { Form } from "../parts/form.js";
import { ether } from "../parts/format.js";
import type { Account } from "../parts/records.js";
import { tell } from "../parts/toasts.js";
import { Ago, Empty, Loaded, Panel, Table } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { NetworkChoice } from "./choose-network.js";

const LIST_MAX = 100;
const EVERY_MS = 6000;

/** The tab. */
export function AccountsTab() {
  const call = API.accounts([], undefined, { rpp: LIST_MAX });
  const data = useData<readonly Account[]>(call);
  return (
    <div class="columns wide">
      <Panel title="Accounts" aside={<ShowCall call={() => call} />}>
        <Loaded
          data={data}
          empty={
            <Empty title="No account yet">
              An account is a key in your vault that pays for transactions on a network.
            </Empty>
          }
        >
          {(rows) => (
            <Table
              label="Accounts"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: "Address", cell: ({ address }) => <Id text={address} head={42} tail={0} /> },
                { title: "Balance", isNumber: true, cell: ({ id }) => <Balance id={id} /> },
                { title: "Created", cell: ({ created_at }) => <Ago at={created_at} /> },
              ]}
            />
          )}
        </Loaded>
      </Panel>
      <Panel title="New account">
        <Form<Account>
          submit="Create account"
          call={(fields) => API.createAccount([], { network_id: fields.text("network_id") })}
          onDone={() => {
            tell("The account is made. Send it some of the network's currency before it can pay.");
            data.reload();
          }}
        >
          <NetworkChoice />
        </Form>
      </Panel>
    </div>
  );
}

function Balance({ id }: { readonly id: string }) {
  const { body, error } = useData<Account>(API.account([id]), EVERY_MS);
  if (body === undefined) return <span title={error}>{error === undefined ? "…" : "–"}</span>;
  return <>{typeof body.balance === "string" ? ether(body.balance) : "–"}</>;
}

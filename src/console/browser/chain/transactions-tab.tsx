/** The user's transactions, as they move, and a form that sends one. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { ShowCall } from "../parts/call-drawer.js";
import { Id } from "../parts/copy.js";
import { Form } from "../parts/form.js";
import { ether } from "../parts/format.js";
import { Pager, ROWS } from "../parts/pager.js";
import type { Transaction } from "../parts/records.js";
import { go } from "../parts/router.js";
import { Ago, Badge, Empty, Field, Loaded, Panel, Table } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { AccountChoice, NetworkChoice } from "./choose-network.js";

const EVERY_MS = 2000;
const WEI_DIGITS = 18;

/** The tab. */
export function TransactionsTab() {
  const [page, setPage] = useState(1);
  const call = API.transactions([], undefined, { page, rpp: ROWS });
  const data = useData<readonly Transaction[]>(call, EVERY_MS);
  return (
    <div class="columns wide">
      <Panel title="Transactions" aside={<ShowCall call={() => call} />}>
        <Loaded
          data={data}
          empty={
            <Empty title="No transaction yet">
              Each is signed in the vault, sent, and followed until it is confirmed.
            </Empty>
          }
        >
          {(rows) => (
            <Table
              label="Transactions"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Transaction",
                  cell: ({ id, hash }) => <a href={`#/chain/transactions/${id}`}>{(hash ?? id).slice(0, 12)}…</a>,
                },
                { title: "State", cell: ({ state }) => <Badge word={state} /> },
                { title: "To", cell: ({ to }) => (to === null ? "new contract" : <Id text={to} />) },
                { title: "Value", isNumber: true, cell: ({ value }) => ether(value) },
                { title: "Block", isNumber: true, cell: ({ block }) => block ?? "–" },
                { title: "Created", cell: ({ created_at }) => <Ago at={created_at} /> },
              ]}
            />
          )}
        </Loaded>
        <Pager page={page} total={data.total} onPage={setPage} />
      </Panel>
      <NewTransaction />
    </div>
  );
}

function NewTransaction() {
  const [networkId, setNetworkId] = useState<string>();
  return (
    <Panel title="Send">
      <Form<Transaction>
        submit="Send"
        call={(fields) =>
          API.createTransaction([], {
            network_id: fields.text("network_id"),
            account_id: fields.text("account_id"),
            to: fields.text("to"),
            value: weiOf(fields.text("amount")),
          })
        }
        onDone={({ id }) => go(`/chain/transactions/${id}`)}
      >
        <NetworkChoice {...(networkId === undefined ? {} : { value: networkId })} onChange={setNetworkId} />
        <AccountChoice {...(networkId === undefined ? {} : { networkId })} />
        <Field label="To">
          <input name="to" class="code" required pattern="0x[0-9a-fA-F]{40}" autocomplete="off" />
        </Field>
        <Field label="Amount" hint="In the network's currency, such as 0.5.">
          <input name="amount" class="code" required inputMode="decimal" autocomplete="off" />
        </Field>
      </Form>
    </Panel>
  );
}

/** Returns an amount of the currency in its smallest unit, without rounding. Throws Error with a sentence. */
function weiOf(text: string): string {
  const [, whole = "", part = ""] = /^([0-9]+)(?:\.([0-9]{1,18}))?$/.exec(text) ?? [];
  if (whole === "") throw new Error("The amount must be a number such as 0.5, with at most 18 digits after the point.");
  return BigInt(whole + part.padEnd(WEI_DIGITS, "0")).toString();
}

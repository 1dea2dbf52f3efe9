/** One transaction, followed from its signature to its confirmation. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { Id } from "../parts/copy.js";
import { CallButton } from "../parts/form.js";
import { count, duration, ether } from "../parts/format.js";
import type { Transaction } from "../parts/records.js";
import { Ago, Badge, Facts, Head, Loaded, Panel } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";

const EVERY_MS = 1000;
const STEPS = ["created", "signed", "sent", "mined", "confirmed"];
const FINAL = ["confirmed", "failed", "cancelled", "replaced"];

interface Receipt {
  readonly logs: readonly { readonly index: number; readonly event: unknown }[] | null;
}

/** The page. */
export function TransactionPage({ id }: { readonly id: string }) {
  const call = API.transaction([id]);
  const [isFinal, setFinal] = useState(false);
  const data = useData<Transaction & { readonly receipt?: Receipt | null }>(call, isFinal ? undefined : EVERY_MS);
  if (!isFinal && data.body !== undefined && FINAL.includes(data.body.state)) setFinal(true);
  return (
    <>
      <Head title="Transaction" above={<a href="#/chain/transactions">Transactions</a>} call={call}>
        {data.body === undefined ? null : <Badge word={data.body.state} />}
      </Head>
      <Loaded data={data}>
        {(transaction) => (
          <>
            <Way state={transaction.state} />
            {transaction.error === null ? null : (
              <p class="failure" role="alert">
                {transaction.error.message}
              </p>
            )}
            <Record transaction={transaction} onChange={data.reload} />
            <Logs receipt={transaction.receipt ?? null} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Way({ state }: { readonly state: string }) {
  const at = STEPS.indexOf(state);
  return (
    <ol class="steps">
      {STEPS.map((step, index) => (
        <li
          key={step}
          class={index <= at ? "done" : index === at + 1 && at >= 0 ? "now" : ""}
          aria-current={index === at ? "step" : undefined}
        >
          {step}
        </li>
      ))}
    </ol>
  );
}

function Record({ transaction, onChange }: { readonly transaction: Transaction; readonly onChange: () => void }) {
  const { hash, to, nonce, block, confirmations, gas_used: gasUsed, e2e_latency: latency } = transaction;
  const isOpen = !["mined", ...FINAL].includes(transaction.state);
  return (
    <Panel title="Record">
      <Facts
        rows={[
          ["Hash", hash === null ? "when it is signed" : <Id text={hash} head={18} tail={12} />],
          ["From", <Id text={transaction.from} head={42} tail={0} />],
          ["To", to === null ? "new contract" : <Id text={to} head={42} tail={0} />],
          ["Value", ether(transaction.value)],
          ["Nonce", nonce ?? "–"],
          ["Block", block === null ? "–" : count(block)],
          ["Confirmations", confirmations ?? "–"],
          ["Gas used", gasUsed === null ? "–" : count(Number(gasUsed))],
          ["From here to its block", latency === null ? "–" : duration(latency)],
          ["Created", <Ago at={transaction.created_at} />],
        ]}
      />
      {isOpen ? (
        <div class="row actions">
          <CallButton
            label="Raise the fee"
            call={API.bump([transaction.id], {})}
            done="It was sent again with a higher fee."
            onDone={onChange}
          />
          <CallButton
            label="Cancel"
            confirm="Replace it by one that does nothing?"
            call={API.cancel([transaction.id])}
            onDone={onChange}
          />
        </div>
      ) : null}
    </Panel>
  );
}

function Logs({ receipt }: { readonly receipt: Receipt | null }) {
  const logs = receipt?.logs ?? [];
  if (logs.length === 0) return null;
  return (
    <Panel title="Events of contracts">
      {logs.map(({ index, event }) => (
        <pre key={index} class="wrap" tabIndex={0} aria-label={`Event ${String(index)}`}>
          {event === null ? "not in any ABI of yours" : JSON.stringify(event, null, 2)}
        </pre>
      ))}
    </Panel>
  );
}

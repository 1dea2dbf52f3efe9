/** The user's networks and how they are. */
import { API } from "../parts/api-calls.js";
import { Form } from "../parts/form.js";
import { count, duration } from "../parts/format.js";
import type { Network } from "../parts/records.js";
import { go } from "../parts/router.js";
import { Badge, Empty, Field, Loaded, Panel, Table } from "../parts/ui.js";
import { ShowCall } from "../parts/call-drawer.js";
import { useData } from "../parts/use-data.js";

const LIST_MAX = 100;
const EVERY_MS = 5000;

/** The tab. */
export function NetworksTab() {
  const call = API.networks([], undefined, { rpp: LIST_MAX });
  const data = useData<readonly Network[]>(call, EVERY_MS);
  return (
    <div class="columns wide">
      <Panel title="Networks" aside={<ShowCall call={() => call} />}>
        <Loaded
          data={data}
          empty={
            <Empty title="No network yet">
              <p>
                Name a node that speaks Ethereum's JSON-RPC. Accounts, contracts and transactions live on a network.
              </p>
            </Empty>
          }
        >
          {(rows) => (
            <Table
              label="Networks"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: "Name", cell: ({ id, name }) => <a href={`#/chain/networks/${id}`}>{name}</a> },
                { title: "Chain", isNumber: true, cell: ({ chain_id }) => chain_id },
                { title: "Health", cell: ({ stats }) => <Badge word={stats?.state ?? "not asked yet"} /> },
                {
                  title: "Block",
                  isNumber: true,
                  cell: ({ stats }) => (typeof stats?.block === "number" ? count(stats.block) : "–"),
                },
                {
                  title: "Latency",
                  isNumber: true,
                  cell: ({ stats }) => (typeof stats?.latency_ms === "number" ? duration(stats.latency_ms) : "–"),
                },
              ]}
            />
          )}
        </Loaded>
      </Panel>
      <NewNetwork />
    </div>
  );
}

function NewNetwork() {
  return (
    <Panel title="New network">
      <Form<Network>
        submit="Create network"
        call={(fields) =>
          API.createNetwork([], {
            name: fields.text("name"),
            config: { json_rpc_url: fields.text("url"), platform: "evm", native_currency: fields.text("currency") },
          })
        }
        onDone={({ id }) => go(`/chain/networks/${id}`)}
      >
        <Field label="Name">
          <input name="name" required maxLength={200} autocomplete="off" />
        </Field>
        <Field label="Address of a node" hint="JSON-RPC over HTTP. The server asks it for the chain's number.">
          <input name="url" type="url" required placeholder="https://rpc.example.com" autocomplete="off" />
        </Field>
        <Field label="Currency">
          <input name="currency" defaultValue="ETH" required autocomplete="off" />
        </Field>
      </Form>
    </Panel>
  );
}

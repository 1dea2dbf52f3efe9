/** One network: its health, its nodes. */
import { API } from "../parts/api-calls.js";
import { CallButton } from "../parts/form.js";
import { count, duration } from "../parts/format.js";
import type { Network, NetworkStats } from "../parts/records.js";
import { go } from "../parts/router.js";
import { Ago, Badge, Facts, Head, Loaded, Panel, Table } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";

const EVERY_MS = 3000;
const GWEI = 1e9;

/** The page. */
export function NetworkPage({ id }: { readonly id: string }) {
  const network = useData<Network>(API.network([id]));
  const call = API.networkStats([id]);
  const data = useData<NetworkStats>(call, EVERY_MS);
  return (
    <>
      <Head title={network.body?.name ?? "Network"} above={<a href="#/chain">Networks</a>} call={call}>
        {data.body === undefined ? null : <Badge word={data.body.state} />}
      </Head>
      <Loaded data={data}>{(stats) => <Health stats={stats} chainId={network.body?.chain_id ?? "–"} />}</Loaded>
      <div class="row actions">
        <CallButton
          label="Delete network"
          confirm="Delete the network from your list?"
          call={API.deleteNetwork([id])}
          done="The network is deleted."
          onDone={() => go("/chain")}
        />
      </div>
    </>
  );
}

function Health({ stats, chainId }: { readonly stats: NetworkStats; readonly chainId: string }) {
  const orDash = (value: number | null, say: (value: number) => string): string => (value === null ? "–" : say(value));
  return (
    <>
      {stats.last_error === null ? null : <p class="failure">{stats.last_error.message}</p>}
      <Panel title="Health">
        <Facts
          rows={[
            ["Chain", chainId],
            ["Block", orDash(stats.block, count)],
            ["Last block", stats.last_block_at === null ? "–" : <Ago at={stats.last_block_at} />],
            ["Time between blocks", orDash(stats.block_time_ms, duration)],
            ["Latency", orDash(stats.latency_ms, duration)],
            ["Peers", orDash(stats.peer_count, count)],
            ["Gas price", stats.gas_price === null ? "–" : `${(Number(stats.gas_price) / GWEI).toPrecision(3)} gwei`],
          ]}
        />
      </Panel>
      <Panel title="Nodes">
        <Table
          label="Nodes"
          rows={stats.nodes}
          keyOf={({ host }) => host}
          columns={[
            { title: "Host", cell: ({ host }) => <code>{host}</code> },
            { title: "State", cell: ({ state }) => <Badge word={state} /> },
            { title: "Latency", isNumber: true, cell: ({ latency_ms }) => orDash(latency_ms, duration) },
            { title: "Requests", isNumber: true, cell: ({ requests }) => count(requests) },
            { title: "Failures", isNumber: true, cell: ({ failures }) => count(failures) },
          ]}
        />
      </Panel>
    </>
  );
}

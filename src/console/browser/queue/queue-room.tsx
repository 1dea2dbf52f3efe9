/** What the server is proving now: the user's proofs as they are made; for administrators its threads and queues. */
import { useEffect, useRef, useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { send } from "../parts/api.js";
import { useEvents } from "../parts/event-stream.js";
import { duration } from "../parts/format.js";
import type { ProofRecord } from "../parts/records.js";
import { Ago, Badge, Empty, Head, Panel, Table } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { ClusterNodes, type Cluster } from "./cluster-nodes.js";
import { quantile, type Sample } from "./plot.js";
import { PlotView } from "./plot-view.js";

interface Lane {
  readonly waiting: number;
  readonly running: number;
  readonly started: number;
  readonly refused: number;
  readonly wait_seconds: number;
}

interface ServiceStatus {
  readonly version: string;
  /** For administrators only. */
  readonly work?: { readonly prove_threads: number; readonly lanes: Readonly<Record<string, Lane>> };
  /** For administrators, where the server is a node of a cluster. */
  readonly cluster?: Cluster;
}

const SPAN_MS = 5 * 60_000;
const TICK_MS = 2000;
const PROOFS_KEPT = 200;
const DEPOSITED = "privacy.prover.notification.*.*.note.deposited";

/** The room. */
export function QueueRoom() {
  const call = API.status();
  const status = useData<ServiceStatus>(call, TICK_MS);
  const { proofs, rates, state } = useProofs();
  const work = status.body?.work;
  const waiting = useHistory(work === undefined ? undefined : waitingProofs(work), status.body);
  const latencies = proofs.flatMap(({ timings }) =>
    timings === null ? [] : timings.witness_ms + timings.prove_ms + timings.check_ms,
  );
  const [median, slow] = [quantile(latencies, 0.5), quantile(latencies, 0.95)];
  const rate = rates.at(-1)?.value ?? 0;
  return (
    <>
      <Head title="Live queue" call={call}>
        <Badge word={state} />
      </Head>
      <div class="figures">
        {work === undefined ? null : (
          <>
            <Figure
              value={`${String(work.lanes["prove"]?.running ?? 0)} of ${String(work.prove_threads)}`}
              word="threads proving"
            />
            <Figure value={String(waitingProofs(work))} word="proofs waiting" />
          </>
        )}
        <Figure value={rate.toFixed(1)} word="of your proofs a second" />
        <Figure value={median === undefined ? "–" : duration(median)} word="half are faster" />
        <Figure value={slow === undefined ? "–" : duration(slow)} word="19 of 20 are faster" />
      </div>
      <Panel>
        <PlotView
          title="Your proofs a second"
          samples={rates}
          spanMs={SPAN_MS}
          topMin={1}
          say={(value) => `${value.toFixed(1)}/s`}
        />
        {work === undefined ? null : (
          <PlotView
            title="Proofs waiting"
            samples={waiting}
            spanMs={SPAN_MS}
            topMin={4}
            say={(value) => String(Math.round(value))}
          />
        )}
      </Panel>
      {work === undefined ? null : <Lanes lanes={work.lanes} />}
      {status.body?.cluster === undefined ? null : <ClusterNodes {...status.body.cluster} />}
      <Latest proofs={proofs} />
    </>
  );
}

function Figure({ value, word }: { readonly value: string; readonly word: string }) {
  return (
    <p>
      <b>{value}</b> {word}
    </p>
  );
}

/** The user's proofs as the events tell of them, with their records, and how many came in each moment. */
function useProofs(): { proofs: readonly ProofRecord[]; rates: readonly Sample[]; state: string } {
  const [proofs, setProofs] = useState<readonly ProofRecord[]>([]);
  const [rates, setRates] = useState<readonly Sample[]>([]);
  const came = useRef(0);
  const dirty = useRef(new Set<string>());
  const { state } = useEvents(DEPOSITED, ({ subject }) => {
    came.current += 1;
    const proverId = subject.split(".")[4];
    if (proverId !== undefined) dirty.current.add(proverId);
  });
  useEffect(() => {
    const timer = setInterval(() => {
      const sample = { atMs: Date.now(), value: came.current / (TICK_MS / 1000) };
      came.current = 0;
      setRates((before) => [...before.filter(({ atMs }) => atMs > sample.atMs - SPAN_MS), sample]);
      for (const id of dirty.current)
        void latestOf(id).then(
          (rows) => setProofs((before) => merged(before, rows)),
          () => undefined,
        );
      dirty.current.clear();
    }, TICK_MS);
    return () => {
      clearInterval(timer);
    };
  }, []);
  return { proofs, rates, state };
}

async function latestOf(proverId: string): Promise<readonly ProofRecord[]> {
  const { total = 0 } = await send<unknown>(API.proofs([proverId], undefined, { rpp: 1 }));
  // The list begins with the oldest.
  const rpp = 50;
  const page = Math.max(1, Math.ceil(total / rpp));
  return (await send<readonly ProofRecord[]>(API.proofs([proverId], undefined, { rpp, page }))).body;
}

function merged(before: readonly ProofRecord[], rows: readonly ProofRecord[]): readonly ProofRecord[] {
  const all = new Map([...before, ...rows].map((row) => [row.id, row]));
  return [...all.values()].sort((a, b) => (a.created_at < b.created_at ? 1 : -1)).slice(0, PROOFS_KEPT);
}

/** A figure over time, as often as it was read. */
function useHistory(value: number | undefined, reading: unknown): readonly Sample[] {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    if (value === undefined) return;
    const atMs = Date.now();
    setSamples((before) => [...before.filter((sample) => sample.atMs > atMs - SPAN_MS), { atMs, value }]);
  }, [reading]);
  return samples;
}

function Lanes({ lanes }: { readonly lanes: Readonly<Record<string, Lane>> }) {
  return (
    <Panel title="Lanes">
      <Table
        label="Lanes"
        rows={Object.entries(lanes)}
        keyOf={([name]) => name}
        columns={[
          { title: "Lane", cell: ([name]) => <code>{name}</code> },
          { title: "Running", isNumber: true, cell: ([, lane]) => lane.running },
          { title: "Waiting", isNumber: true, cell: ([, lane]) => lane.waiting },
          { title: "Begun", isNumber: true, cell: ([, lane]) => lane.started },
          { title: "Refused", isNumber: true, cell: ([, lane]) => lane.refused },
          {
            title: "Wait on average",
            isNumber: true,
            cell: ([, { wait_seconds, started }]) => (started === 0 ? "–" : duration((wait_seconds * 1000) / started)),
          },
        ]}
      />
    </Panel>
  );
}

function Latest({ proofs }: { readonly proofs: readonly ProofRecord[] }) {
  if (proofs.length === 0)
    return (
      <Empty title="Waiting for proofs">
        <p>
          Your proofs appear here the moment they are made, here or by any program of yours.{" "}
          <a href="#/provers">Make one.</a>
        </p>
      </Empty>
    );
  return (
    <Panel title="Latest proofs">
      <Table
        label="Latest proofs"
        rows={proofs.slice(0, 25)}
        keyOf={({ id }) => id}
        columns={[
          {
            title: "Prover",
            cell: ({ prover_id }) => <a href={`#/provers/${prover_id}/proofs`}>{prover_id.slice(0, 8)}</a>,
          },
          {
            title: "Witness",
            isNumber: true,
            cell: ({ timings }) => (timings === null ? "–" : duration(timings.witness_ms)),
          },
          {
            title: "Prove",
            isNumber: true,
            cell: ({ timings }) => (timings === null ? "–" : duration(timings.prove_ms)),
          },
          {
            title: "Self-check",
            isNumber: true,
            cell: ({ timings }) => (timings === null ? "–" : duration(timings.check_ms)),
          },
          { title: "Made", cell: ({ created_at }) => <Ago at={created_at} /> },
        ]}
      />
    </Panel>
  );
}

/** Proofs of requests wait for a thread, those of jobs for their turn. */
function waitingProofs({ lanes }: NonNullable<ServiceStatus["work"]>): number {
  return (lanes["prove"]?.waiting ?? 0) + (lanes["prove-jobs"]?.waiting ?? 0);
}

/** The room of the provers: the list, a new one, one of them, several beside each other. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { Pager, ROWS } from "../parts/pager.js";
import type { Prover } from "../parts/records.js";
import { Ago, Badge, Choice, Empty, Head, Loaded, Table } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { ComparePage } from "./compare-page.js";
import { NewProver } from "./new-prover.js";
import { ProverPage } from "./prover-page.js";

const EVERY_MS = 4000;
const STATUSES = [
  ["", "any status"],
  "provisioned",
  "compiling",
  "pending_setup",
  "running_setup",
  "deploying_artifacts",
  "failed",
] as const;

/** Shows the page that the address names. */
export function ProversRoom({ words }: { readonly words: readonly string[] }) {
  const [first, second = ""] = words;
  if (first === undefined) return <ProverList />;
  if (first === "new") return <NewProver />;
  if (first === "compare") return <ComparePage id={second} />;
  return <ProverPage key={first} id={first} tab={second} />;
}

function ProverList() {
  const [text, setText] = useState("");
  const [status, setStatus] = useState("");
  const [page, setPage] = useState(1);
  const call = API.provers([], undefined, { status: status === "" ? undefined : status, page, rpp: ROWS });
  const data = useData<readonly Prover[]>(call, EVERY_MS);
  const isEmpty = data.body?.length === 0 && status === "";
  return (
    <>
      <Head title="Provers" call={call}>
        <a class="button main" href="#/provers/new">
          New prover
        </a>
      </Head>
      {isEmpty ? (
        <FirstProver />
      ) : (
        <>
          <div class="row filters" role="search">
            <input
              type="search"
              placeholder="Filter by name, circuit or tag"
              aria-label="Filter by name, circuit or tag"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            <label>
              <span class="hidden">Status</span>
              <Choice
                name="status"
                options={STATUSES}
                value={status}
                onChange={(next) => {
                  setStatus(next);
                  setPage(1);
                }}
              />
            </label>
          </div>
          <Loaded data={data}>{(rows) => <Rows rows={rows.filter((row) => hasText(row, text))} />}</Loaded>
          <Pager page={page} total={data.total} onPage={setPage} />
        </>
      )}
    </>
  );
}

function hasText({ name, identifier, tags }: Prover, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return [name, identifier, ...tags].some((word) => word.toLowerCase().includes(wanted));
}

function Rows({ rows }: { readonly rows: readonly Prover[] }) {
  if (rows.length === 0) return <p class="waiting">No prover matches.</p>;
  return (
    <Table
      label="Provers"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { title: "Name", cell: ({ id, name }) => <a href={`#/provers/${id}`}>{name}</a> },
        { title: "Circuit", cell: ({ identifier }) => <code>{identifier}</code> },
        { title: "Scheme", cell: ({ proving_scheme, curve }) => `${proving_scheme} · ${curve}` },
        { title: "Status", cell: ({ status }) => <Badge word={status} /> },
        {
          title: "Warnings",
          isNumber: true,
          cell: ({ warnings }) => (warnings.length === 0 ? "" : String(warnings.length)),
        },
        { title: "Created", cell: ({ created_at }) => <Ago at={created_at} /> },
      ]}
    />
  );
}

function FirstProver() {
  return (
    <Empty title="A prover is a circuit with its keys">
      <p>
        Give the server a circuit. It compiles it, makes the keys, and from then on proves and verifies statements about
        it: that somebody knows inputs which satisfy it, without telling them.
      </p>
      <p>
        <a class="button main" href="#/provers/new?circuit=cubic">
          Begin with a built-in circuit
        </a>{" "}
        <a class="button" href="#/provers/new">
          Bring your own
        </a>
      </p>
    </Empty>
  );
}

/** The proofs of a prover, and the notes that they left. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { CopyButton, Id } from "../parts/copy.js";
import { CallButton } from "../parts/form.js";
import { bytes, duration } from "../parts/format.js";
import { Pager, ROWS } from "../parts/pager.js";
import type { ProofRecord, Prover } from "../parts/records.js";
import { Ago, Empty, Facts, Loaded, Panel, Table } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { ShowCall } from "../parts/call-drawer.js";
import { Signals } from "./prove-tab.js";

interface Note {
  readonly index: number;
  readonly root: string;
  readonly leaf: string;
  readonly nullifier_key: string;
  readonly spent: boolean;
  readonly value: string;
}

const EVERY_MS = 3000;

/** The page. */
export function ProofsTab({ prover }: { readonly prover: Prover }) {
  const [page, setPage] = useState(1);
  const [note, setNote] = useState<Note>();
  const call = API.proofs([prover.id], undefined, { page, rpp: ROWS });
  const data = useData<readonly ProofRecord[]>(call, EVERY_MS);
  return (
    <>
      {note === undefined ? null : <NotePanel note={note} />}
      <Panel title="Proofs" aside={<ShowCall call={() => call} />}>
        <Loaded
          data={data}
          empty={
            <Empty title="No proof yet">
              <p>
                Each proof is kept with a note: an encrypted record in a Merkle tree, whose root shows that it was
                there. <a href={`#/provers/${prover.id}/prove`}>Make the first one.</a>
              </p>
            </Empty>
          }
        >
          {(rows) => <Rows rows={rows} onNote={setNote} />}
        </Loaded>
        <Pager page={page} total={data.total} onPage={setPage} />
      </Panel>
    </>
  );
}

function Rows({ rows, onNote }: { readonly rows: readonly ProofRecord[]; readonly onNote: (note: Note) => void }) {
  return (
    <Table
      label="Proofs"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { title: "Proof", cell: ({ id }) => <Id text={id} /> },
        { title: "Origin", cell: ({ origin }) => origin },
        { title: "Public signals", cell: ({ public_signals }) => <Signals list={public_signals.slice(0, 3)} /> },
        { title: "Size", isNumber: true, cell: (row) => bytes(row.bytes) },
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
        { title: "Made", cell: ({ created_at }) => <Ago at={created_at} /> },
        {
          title: "",
          cell: ({ prover_id, note_index }) => (
            <CallButton<Note>
              label={`Note ${String(note_index)}`}
              call={API.note([prover_id, String(note_index)])}
              onDone={onNote}
            />
          ),
        },
      ]}
    />
  );
}

function NotePanel({ note }: { readonly note: Note }) {
  return (
    <Panel title={`Note ${String(note.index)}`} aside={<CopyButton text={note.value} label="Copy the value" />}>
      <Facts
        rows={[
          ["Leaf", <Id text={note.leaf} head={16} tail={8} />],
          ["Root after it", <Id text={note.root} head={16} tail={8} />],
          ["Nullifier key", <Id text={note.nullifier_key} head={16} tail={8} />],
          ["Spent", note.spent ? "yes" : "no"],
        ]}
      />
    </Panel>
  );
}

/** The files of a prover: what compilation and setup left, the Solidity verifier, the source. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { sendRaw } from "../parts/api.js";
import { ShowCall } from "../parts/call-drawer.js";
import { CopyButton, Id } from "../parts/copy.js";
import { bytes } from "../parts/format.js";
import type { Artifact, Prover } from "../parts/records.js";
import { Empty, Loaded, Panel, Table } from "../parts/ui.js";
import { tellFailure } from "../parts/toasts.js";
import { useData } from "../parts/use-data.js";

const TEXTS = /\.(sol|json|sym)$/;
/** Longer ones are downloaded, and not shown. */
const SHOWN_CHARACTERS_MAX = 200_000;

/** The page. */
export function FilesTab({ prover }: { readonly prover: Prover }) {
  const [shown, setShown] = useState<{ name: string; text: string }>();
  const call = API.artifacts([prover.id]);
  const data = useData<readonly Artifact[]>(call);
  const show = async (name: string): Promise<void> => {
    const answer = await sendRaw(API.artifact([prover.id, name]));
    setShown({ name, text: (await answer.text()).slice(0, SHOWN_CHARACTERS_MAX) });
  };
  return (
    <>
      <Panel title="Files" aside={<ShowCall call={() => call} />}>
        <Loaded
          data={data}
          empty={<Empty title="No file yet">The files appear as the prover is compiled and set up.</Empty>}
        >
          {(rows) => <Rows rows={rows} proverId={prover.id} onShow={(name) => void show(name).catch(tellFailure)} />}
        </Loaded>
      </Panel>
      {shown === undefined ? null : (
        <Panel title={shown.name} aside={<CopyButton text={shown.text} />}>
          <pre class="source" tabIndex={0} aria-label={shown.name}>
            {shown.text}
          </pre>
        </Panel>
      )}
    </>
  );
}

async function download(id: string, name: string): Promise<void> {
  const answer = await sendRaw(API.artifact([id, name]));
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

function Rows({
  rows,
  proverId,
  onShow,
}: {
  readonly rows: readonly Artifact[];
  readonly proverId: string;
  readonly onShow: (name: string) => void;
}) {
  return (
    <Table
      label="Files"
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        { title: "Name", cell: ({ name }) => <code>{name}</code> },
        {
          title: "Size",
          isNumber: true,
          cell: (row) => (row.bytes === null ? "made when asked for" : bytes(row.bytes)),
        },
        { title: "SHA-256", cell: ({ sha256 }) => (sha256 === null ? "–" : <Id text={sha256} />) },
        {
          title: "",
          cell: ({ name }) => (
            <span class="row tight">
              <button
                type="button"
                onClick={() => void download(proverId, name).catch(tellFailure)}
                aria-label={`Download ${name}`}
              >
                Download
              </button>
              {TEXTS.test(name) ? (
                <button type="button" class="quiet" onClick={() => onShow(name)} aria-label={`Show ${name}`}>
                  Show
                </button>
              ) : null}
            </span>
          ),
        },
      ]}
    />
  );
}

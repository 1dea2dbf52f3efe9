/** One prover: how far it is, what it is made of, and what can be done with it. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { Id } from "../parts/copy.js";
import { CallButton } from "../parts/form.js";
import { count, duration } from "../parts/format.js";
import type { Prover, ProverStatus } from "../parts/records.js";
import { go } from "../parts/router.js";
import { Ago, Badge, Facts, Head, Loaded, Panel, Progress, Table, Tabs } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { Complaints } from "./complaints.js";
import { FilesTab } from "./files-tab.js";
import { signalText, elementCount, type CircuitInterface } from "./interface-form.js";
import { ProofsTab } from "./proofs-tab.js";
import { ProveTab } from "./prove-tab.js";
import { VerifyTab } from "./verify-tab.js";

const TABS = [
  ["", "Overview"],
  ["prove", "Prove"],
  ["verify", "Verify"],
  ["proofs", "Proofs"],
  ["files", "Files"],
] as const;
const STATUS_MS = 400;
const RECORD_MS = 1500;

/** The page of a prover. */
export function ProverPage({ id, tab }: { readonly id: string; readonly tab: string }) {
  const call = API.prover([id]);
  const [isFinal, setFinal] = useState(false);
  const data = useData<Prover>(call, isFinal ? undefined : RECORD_MS);
  const status = data.body?.status ?? "";
  if (!isFinal && (status === "provisioned" || status === "failed")) setFinal(true);
  return (
    <>
      <Head title={data.body?.name ?? "Prover"} above={<a href="#/provers">Provers</a>} call={call}>
        {data.body === undefined ? null : <Badge word={status} />}
      </Head>
      <Loaded data={data}>
        {(prover) => (
          <>
            <Tabs label="Prover" base={`/provers/${id}`} tabs={TABS} current={tab} />
            <Tab prover={prover} tab={tab} isReady={prover.status === "provisioned"} onChange={data.reload} />
          </>
        )}
      </Loaded>
    </>
  );
}

interface TabProps {
  readonly prover: Prover;
  readonly tab: string;
  readonly isReady: boolean;
  readonly onChange: () => void;
}

function Tab({ prover, tab, isReady, onChange }: TabProps) {
  const description = useData<CircuitInterface>(isReady ? API.artifact([prover.id, "interface.json"]) : undefined);
  if (tab === "files") return <FilesTab prover={prover} />;
  if (tab === "proofs") return <ProofsTab prover={prover} />;
  if (tab === "") return <Overview prover={prover} circuit={description.body} onChange={onChange} />;
  if (!isReady) return <Provisioning prover={prover} onFinished={onChange} />;
  return (
    <Loaded data={description}>
      {(circuit) =>
        tab === "verify" ? (
          <VerifyTab prover={prover} circuit={circuit} />
        ) : (
          <ProveTab prover={prover} circuit={circuit} />
        )
      }
    </Loaded>
  );
}

function Overview({
  prover,
  circuit,
  onChange,
}: {
  readonly prover: Prover;
  readonly circuit: CircuitInterface | undefined;
  readonly onChange: () => void;
}) {
  return (
    <>
      {prover.status === "provisioned" || prover.status === "failed" ? null : (
        <Provisioning prover={prover} onFinished={onChange} />
      )}
      <Complaints title="Errors" list={prover.errors} proverId={prover.id} tone="bad" />
      {circuit === undefined ? null : <Interface circuit={circuit} proverId={prover.id} />}
      <Complaints title="Warnings" list={prover.warnings} proverId={prover.id} tone="warn" />
      <Panel title="Record" aside={<a href={`#/provers/compare/${prover.id}`}>Compare schemes</a>}>
        <Facts
          rows={[
            ["Id", <Id text={prover.id} head={36} tail={0} />],
            ["Circuit", <code>{prover.identifier}</code>],
            ["Scheme", `${prover.proving_scheme} on ${prover.curve}`],
            ["Trusted setup", prover.trusted_setup.replaceAll("_", " ")],
            ["Compiler", prover.compiler],
            ["Analysis", prover.analysis?.verdict?.replaceAll("_", " ") ?? prover.analysis?.state ?? "none"],
            ["Note store", <Id text={prover.note_store_id} />],
            ["Vault", <a href={`#/vaults/${prover.vault_id}`}>keys of this prover</a>],
            ["Created", <Ago at={prover.created_at} />],
          ]}
        />
        <div class="row actions">
          <CallButton
            label="Delete prover"
            confirm="Delete the prover with its keys and proofs?"
            call={API.deleteProver([prover.id])}
            done="The prover is deleted."
            onDone={() => go("/provers")}
          />
        </div>
      </Panel>
    </>
  );
}

function Interface({ circuit, proverId }: { readonly circuit: CircuitInterface; readonly proverId: string }) {
  const { constraintCount, wireCount, publicInputCount, privateInputCount, outputCount } = circuit;
  return (
    <Panel title="Interface" aside={<a href={`#/provers/${proverId}/prove`}>Make a proof</a>}>
      <div class="figures">
        <Figure value={constraintCount} word="constraints" />
        <Figure value={wireCount} word="wires" />
        <Figure value={privateInputCount} word="private inputs" />
        <Figure value={publicInputCount + outputCount} word="public signals" />
      </div>
      <Table
        label="Signals"
        rows={circuit.signals}
        keyOf={({ name }) => name}
        columns={[
          { title: "Signal", cell: (signal) => <code>{signalText(signal)}</code> },
          {
            title: "Visibility",
            cell: ({ visibility }) => (
              <span class={`badge ${visibility === "private" ? "still" : "busy"}`}>{visibility}</span>
            ),
          },
          { title: "Elements", isNumber: true, cell: (signal) => count(elementCount(signal)) },
        ]}
      />
    </Panel>
  );
}

function Figure({ value, word }: { readonly value: number; readonly word: string }) {
  return (
    <p>
      <b>{count(value)}</b> {word}
    </p>
  );
}

const STEPS = ["compiling", "pending_setup", "running_setup", "deploying_artifacts", "provisioned"];

function stepAndTimeLeft({ step, remaining_ms }: ProverStatus): string {
  return remaining_ms === null || remaining_ms < 1_000 ? step : `${step}, about ${duration(remaining_ms)} left`;
}

/** Shows how compiling and setting up go on. */
function Provisioning({ prover, onFinished }: { readonly prover: Prover; readonly onFinished: () => void }) {
  const call = API.proverStatus([prover.id]);
  const { body } = useData<ProverStatus>(call, STATUS_MS);
  const [wasFinished, setWasFinished] = useState(false);
  if (body?.finished === true && !wasFinished) {
    setWasFinished(true);
    onFinished();
  }
  const status = body?.status ?? prover.status;
  const at = STEPS.indexOf(status === "compiled" ? "pending_setup" : status);
  return (
    <Panel title="Compiling and setting up">
      <Progress share={body?.progress ?? 0} label={body === undefined ? "waiting" : stepAndTimeLeft(body)} />
      <ol class="steps">
        {["Compile", "Wait for the setup", "Set up", "Keep the keys", "Ready"].map((title, index) => (
          <li
            key={title}
            class={index < at ? "done" : index === at ? "now" : ""}
            aria-current={index === at ? "step" : undefined}
          >
            {title}
          </li>
        ))}
      </ol>
      {status === "failed" ? (
        <p class="failure">{(body?.errors ?? prover.errors).map(({ message }) => message).join(" ")}</p>
      ) : null}
    </Panel>
  );
}

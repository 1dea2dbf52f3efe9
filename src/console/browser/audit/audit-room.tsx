/** The audit log: who did what, and whether the log is whole. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { sendRaw, sentenceOf } from "../parts/api.js";
import { ShowCall } from "../parts/call-drawer.js";
import { CopyButton, Id } from "../parts/copy.js";
import { count } from "../parts/format.js";
import { Pager, ROWS } from "../parts/pager.js";
import type { AuditEvent } from "../parts/records.js";
import { Ago, Badge, Choice, Empty, Head, Loaded, Panel, Table } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { checkAuditLines, type AuditVerdict } from "./audit-chain.js";

const EVERY_MS = 6000;
const EXPORT_ROWS = 5000;

/** The room. */
export function AuditRoom() {
  const [page, setPage] = useState(1);
  const [subject, setSubject] = useState("");
  const [text, setText] = useState("");
  const [outcome, setOutcome] = useState("");
  const call = API.audit([], undefined, { subject: subject === "" ? undefined : subject, page, rpp: ROWS });
  const data = useData<readonly AuditEvent[]>(call, EVERY_MS);
  return (
    <>
      <Head title="Audit" call={call} />
      <div class="row filters" role="search">
        <input
          type="search"
          aria-label="Filter this page by action, target or code"
          placeholder="Action, target or code"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <label>
          <span class="hidden">Outcome</span>
          <Choice
            name="outcome"
            options={[["", "any outcome"], "ok", "refused"]}
            value={outcome}
            onChange={setOutcome}
          />
        </label>
        <input
          type="search"
          class="code"
          aria-label="Subject, such as user:ID"
          placeholder="Subject: user:ID"
          onChange={(event) => {
            setSubject(event.currentTarget.value.trim());
            setPage(1);
          }}
        />
      </div>
      <Loaded
        data={data}
        empty={<Empty title="Nothing recorded">What you do with keys, tokens and people appears here.</Empty>}
      >
        {(rows) => <Rows rows={rows.filter((row) => isWanted(row, text, outcome))} />}
      </Loaded>
      <Pager page={page} total={data.total} onPage={setPage} />
      <Verification />
    </>
  );
}

function isWanted(event: AuditEvent, text: string, outcome: string): boolean {
  if (outcome !== "" && event.outcome !== outcome) return false;
  const words = [event.action, event.code ?? "", event.subject ?? "", ...Object.values(event.target ?? {})];
  return words.some((word) => word.toLowerCase().includes(text.trim().toLowerCase()));
}

function Rows({ rows }: { readonly rows: readonly AuditEvent[] }) {
  return (
    <Table
      label="Audit log"
      rows={rows}
      keyOf={({ number }) => number}
      columns={[
        { title: "Number", isNumber: true, cell: ({ number }) => count(number) },
        { title: "When", cell: ({ at }) => <Ago at={at} /> },
        { title: "Action", cell: ({ action }) => <code>{action}</code> },
        { title: "Outcome", cell: ({ outcome, code }) => <Badge word={code ?? outcome} /> },
        { title: "Who", cell: ({ subject }) => (subject === undefined ? "–" : <Id text={subject} head={13} />) },
        {
          title: "What",
          cell: ({ target }) =>
            Object.entries(target ?? {}).map(([name, value]) => (
              <span key={name} class="row tight">
                <small>{name}</small> <Id text={value} />
              </span>
            )),
        },
      ]}
    />
  );
}

function Verification() {
  const [verdict, setVerdict] = useState<AuditVerdict>();
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const call = API.auditExport([], undefined, { limit: EXPORT_ROWS });
  const verify = async (): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      let all: AuditVerdict | undefined;
      for (;;) {
        const answer = await sendRaw(API.auditExport([], undefined, { after: all?.records ?? 0, limit: EXPORT_ROWS }));
        const text = await answer.text();
        const next = checkAuditLines(text, all);
        setVerdict(next);
        if (text === "" || next.fault !== undefined) break;
        all = next;
      }
    } catch (error) {
      setFailure(sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Panel title="Is the log whole?" aside={<ShowCall call={() => call} />}>
      <p>
        Administrators can read the whole log here and check that no record is missing. Save the number and link of its
        last record, and give them to <code>proofwright audit verify --anchor</code> later: it holds the key of the
        links and finds every change.
      </p>
      <div class="row actions">
        <button type="button" disabled={isBusy} onClick={() => void verify()}>
          {isBusy ? "Reading…" : "Check the log"}
        </button>
      </div>
      <div aria-live="polite">
        {failure === undefined ? null : <p class="failure">{failure}</p>}
        {verdict === undefined ? null : (
          <p class="result">
            <Badge word={verdict.fault === undefined ? "ok" : "failed"} />{" "}
            {verdict.fault ?? `${count(verdict.records)} records, none missing.`}
            {verdict.head === undefined ? null : <CopyButton text={verdict.head} label="Copy number and link" />}
          </p>
        )}
      </div>
    </Panel>
  );
}

/** One circuit under several schemes, side by side: sizes and times of each. */
import { API } from "../parts/api-calls.js";
import { CallButton } from "../parts/form.js";
import { bytes, duration } from "../parts/format.js";
import type { Artifact, ProofRecord, Prover } from "../parts/records.js";
import { Badge, Head, Loaded, Panel } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";

const SCHEMES = ["groth16", "plonk", "fflonk"];
const LIST_MAX = 100;
const EVERY_MS = 3000;

/** The page. */
export function ComparePage({ id }: { readonly id: string }) {
  const one = useData<Prover>(API.prover([id]));
  const call = API.provers([], undefined, { identifier: one.body?.identifier, rpp: LIST_MAX });
  const all = useData<readonly Prover[]>(one.body === undefined ? undefined : call, EVERY_MS);
  return (
    <>
      <Head
        title="Compare schemes"
        above={<a href={`#/provers/${id}`}>{one.body?.name ?? "Prover"}</a>}
        call={one.body === undefined ? undefined : call}
      />
      <Loaded data={one}>
        {(prover) => (
          <Loaded data={all}>
            {(list) => {
              const same = list.filter(
                ({ source_hash, curve }) => source_hash === prover.source_hash && curve === prover.curve,
              );
              const missing = SCHEMES.filter((scheme) => !same.some(({ proving_scheme }) => proving_scheme === scheme));
              return (
                <>
                  <Comparison list={same} />
                  {missing.length === 0 ? null : <Others prover={prover} missing={missing} onDone={all.reload} />}
                </>
              );
            }}
          </Loaded>
        )}
      </Loaded>
    </>
  );
}

function Comparison({ list }: { readonly list: readonly Prover[] }) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Comparison">
      <table>
        <thead>
          <tr>
            {["Scheme", "Status", "Setup", "Proof", "Proving key", "Witness", "Prove", "Ready after"].map(
              (title, index) => (
                <th key={title} scope="col" class={index > 2 ? "number" : ""}>
                  {title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {list.map((prover) => (
            <Row key={prover.id} prover={prover} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ prover }: { readonly prover: Prover }) {
  const isReady = prover.status === "provisioned";
  const files = useData<readonly Artifact[]>(isReady ? API.artifacts([prover.id]) : undefined);
  const proofs = useData<readonly ProofRecord[]>(
    isReady ? API.proofs([prover.id], undefined, { origin: "prove", rpp: 20 }) : undefined,
  );
  const key = files.body?.find(({ name }) => name === "proving_key");
  const timed = (proofs.body ?? []).flatMap(({ timings }) => timings ?? []);
  const best = (times: readonly number[]): string => (times.length === 0 ? "–" : duration(Math.min(...times)));
  const size = proofs.body?.[0]?.bytes;
  return (
    <tr>
      <td>
        <a href={`#/provers/${prover.id}/prove`}>{prover.proving_scheme}</a>
      </td>
      <td>
        <Badge word={prover.status} />
      </td>
      <td>{prover.trusted_setup.replaceAll("_", " ")}</td>
      <td class="number">{size === undefined ? "–" : bytes(size)}</td>
      <td class="number">{key?.bytes === undefined || key.bytes === null ? "–" : bytes(key.bytes)}</td>
      <td class="number">{best(timed.map(({ witness_ms }) => witness_ms))}</td>
      <td class="number">{best(timed.map(({ prove_ms }) => prove_ms))}</td>
      <td class="number">{isReady ? duration(Date.parse(prover.updated_at) - Date.parse(prover.created_at)) : "–"}</td>
    </tr>
  );
}

/** Creates the same circuit under the schemes that are not there. */
function Others({
  prover,
  missing,
  onDone,
}: {
  readonly prover: Prover;
  readonly missing: readonly string[];
  readonly onDone: () => void;
}) {
  const isOwn = prover.source_hash !== null;
  const source = useData<{ files: object; main?: string }>(isOwn ? API.source([prover.id]) : undefined);
  if (isOwn && source.body === undefined) return null;
  const circuit =
    source.body === undefined
      ? { identifier: prover.identifier }
      : { source: source.body.files, main: source.body.main };
  return (
    <Panel title="Not there yet">
      <p class="hint">Times are the best of the latest proofs. Make a proof with each to fill in its row.</p>
      <div class="row">
        {missing.map((scheme) => (
          <CallButton
            key={scheme}
            label={`Create with ${scheme}`}
            call={API.createProver([], {
              ...circuit,
              proving_scheme: scheme,
              curve: prover.curve,
              provider: "circom",
              name: `${prover.name} ${scheme}`,
            })}
            done={`The circuit is being set up with ${scheme}.`}
            onDone={onDone}
          />
        ))}
      </div>
    </Panel>
  );
}

/** One contract: forms that read and write, made from its ABI. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { Id } from "../parts/copy.js";
import { CallButton, Form } from "../parts/form.js";
import type { AbiItem, Contract } from "../parts/records.js";
import { go } from "../parts/router.js";
import { tell } from "../parts/toasts.js";
import { Ago, Badge, Facts, Field, Head, Loaded, Panel } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { abiArgument, isReading } from "./abi-arguments.js";
import { AccountChoice } from "./choose-network.js";

const EVERY_MS = 1500;
const MOVING = ["compiling", "compiled", "deploying"];

/** The page. */
export function ContractPage({ id }: { readonly id: string }) {
  const call = API.contract([id]);
  const [isFinal, setFinal] = useState(false);
  const data = useData<Contract>(call, isFinal ? undefined : EVERY_MS);
  if (!isFinal && data.body !== undefined && !MOVING.includes(data.body.status)) setFinal(true);
  return (
    <>
      <Head title={data.body?.name ?? "Contract"} above={<a href="#/chain/contracts">Contracts</a>} call={call}>
        {data.body === undefined ? null : <Badge word={data.body.status} />}
      </Head>
      <Loaded data={data}>
        {(contract) => (
          <>
            {contract.errors.map(({ message, line }, index) => (
              <p key={index} class="failure" role="alert">
                {line === undefined ? "" : `Line ${String(line)}: `}
                {message}
              </p>
            ))}
            <Record contract={contract} />
            <Methods contract={contract} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Record({ contract }: { readonly contract: Contract }) {
  const { address, transaction_id: transactionId } = contract;
  return (
    <Panel title="Record">
      <Facts
        rows={[
          ["Address", address === "0x" ? "when it is mined" : <Id text={address} head={42} tail={0} />],
          ["Network", <a href={`#/chain/networks/${contract.network_id}`}>{contract.network_id.slice(0, 8)}</a>],
          [
            "Transaction",
            transactionId === null ? (
              "–"
            ) : (
              <a href={`#/chain/transactions/${transactionId}`}>{transactionId.slice(0, 8)}</a>
            ),
          ],
          ["Created", <Ago at={contract.created_at} />],
        ]}
      />
      <div class="row actions">
        <CallButton
          label="Delete contract"
          confirm="Delete its record here? The chain keeps the contract."
          call={API.deleteContract([contract.id])}
          onDone={() => go("/chain/contracts")}
        />
      </div>
    </Panel>
  );
}

function Methods({ contract }: { readonly contract: Contract }) {
  const abi = contract.params?.abi ?? contract.params?.compiled_artifact?.abi ?? [];
  const methods = abi.filter(({ type }) => type === "function");
  if (methods.length === 0 || contract.address === "0x") return null;
  const reading = methods.filter(({ stateMutability }) => isReading(stateMutability));
  const writing = methods.filter(({ stateMutability }) => !isReading(stateMutability));
  return (
    <div class="columns">
      <Panel title="Read">
        {reading.length === 0 ? <p class="hint">Nothing to read.</p> : null}
        {reading.map((method) => (
          <Method key={signatureOf(method)} contract={contract} method={method} />
        ))}
      </Panel>
      <Panel title="Write">
        {writing.length === 0 ? <p class="hint">Nothing to write.</p> : null}
        {writing.map((method) => (
          <Method key={signatureOf(method)} contract={contract} method={method} />
        ))}
      </Panel>
    </div>
  );
}

function signatureOf({ name = "", inputs = [] }: AbiItem): string {
  return `${name}(${inputs.map(({ type }) => type).join(",")})`;
}

function Method({ contract, method }: { readonly contract: Contract; readonly method: AbiItem }) {
  const [answer, setAnswer] = useState<string>();
  const reads = isReading(method.stateMutability);
  const inputs = method.inputs ?? [];
  return (
    <details class="method-form" open={inputs.length === 0 && reads}>
      <summary>
        <code>{signatureOf(method)}</code>
      </summary>
      <Form<{ response?: unknown; ref: string }>
        submit={reads ? "Read" : "Send"}
        label={`${reads ? "Read" : "Send"} ${signatureOf(method)}`}
        call={(fields) => {
          const params = inputs.map((input, index) => abiArgument(input, fields.exact(`argument${String(index)}`)));
          const value = fields.text("value");
          return API.execute([contract.id], {
            method: method.name,
            params,
            ...(reads ? {} : { account_id: fields.text("account_id") }),
            ...(value === "" ? {} : { value }),
          });
        }}
        onDone={(body) => {
          if (reads) setAnswer(JSON.stringify(body.response, null, 2));
          else {
            tell("The transaction is under way.");
            go(`/chain/transactions/${body.ref}`);
          }
        }}
      >
        {inputs.map(({ name, type }, index) => (
          <Field key={index} label={name === "" ? `Argument ${String(index + 1)}` : name} hint={<code>{type}</code>}>
            <input name={`argument${String(index)}`} class="code" autocomplete="off" spellcheck={false} />
          </Field>
        ))}
        {method.stateMutability === "payable" ? (
          <Field label="Value in wei">
            <input name="value" class="code" inputMode="numeric" autocomplete="off" />
          </Field>
        ) : null}
        {reads ? null : <AccountChoice networkId={contract.network_id} />}
      </Form>
      {answer === undefined ? null : (
        <pre class="wrap" tabIndex={0} aria-label={`Answer of ${method.name ?? ""}`} aria-live="polite">
          {answer}
        </pre>
      )}
    </details>
  );
}

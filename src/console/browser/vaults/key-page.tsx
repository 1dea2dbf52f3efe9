/** One key: its life cycle, and signing and verifying with it. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { CopyButton, Id } from "../parts/copy.js";
import { CallButton, Form, type Fields } from "../parts/form.js";
import type { Key } from "../parts/records.js";
import { go } from "../parts/router.js";
import { Ago, Badge, Choice, Facts, Field, Head, Loaded, Panel } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { stateOf } from "./vault-words.js";

interface Signature {
  readonly signature: string;
  readonly address?: string;
}

/** Ethereum's keys sign digests; a text is hashed as wallets do it. */
const ETHEREUM_SPECS = ["secp256k1", "BIP39"];

/** The page. */
export function KeyPage({
  vaultId,
  vaultName,
  keyId,
}: {
  readonly vaultId: string;
  readonly vaultName: string;
  readonly keyId: string;
}) {
  const call = API.key([vaultId, keyId]);
  const data = useData<Key>(call);
  return (
    <>
      <Head title={data.body?.name ?? "Key"} above={<a href={`#/vaults/${vaultId}`}>{vaultName}</a>} call={call}>
        {data.body === undefined ? null : <Badge word={stateOf(data.body)} />}
      </Head>
      <Loaded data={data}>
        {(key) => (
          <div class="columns">
            <div>
              {key.usage === "sign/verify" ? <SignPanel vaultId={vaultId} vaultKey={key} /> : null}
              {key.usage === "sign/verify" ? <VerifyPanel vaultId={vaultId} vaultKey={key} /> : null}
            </div>
            <LifePanel vaultId={vaultId} vaultKey={key} onChange={data.reload} />
          </div>
        )}
      </Loaded>
    </>
  );
}

interface KeyProps {
  readonly vaultId: string;
  readonly vaultKey: Key;
}

function LifePanel({ vaultId, vaultKey, onChange }: KeyProps & { readonly onChange: () => void }) {
  const ids = [vaultId, vaultKey.id];
  return (
    <Panel title="Key">
      <Facts
        rows={[
          ["Spec", <code>{vaultKey.spec}</code>],
          ["Usage", vaultKey.usage],
          ["Id", <Id text={vaultKey.id} head={13} />],
          ["Address", vaultKey.address === undefined ? "–" : <Id text={vaultKey.address} head={12} tail={8} />],
          [
            "Public key",
            vaultKey.public_key === undefined ? "–" : <Id text={vaultKey.public_key} head={16} tail={8} />,
          ],
          ["Created", <Ago at={vaultKey.created_at} />],
        ]}
      />
      <div class="row actions">
        {vaultKey.type === "symmetric" ? (
          <CallButton
            label="Rotate"
            call={API.rotateKey(ids)}
            done="The key has new material. What it encrypted before still opens."
            onDone={onChange}
          />
        ) : null}
        {vaultKey.disabled_at === undefined ? (
          <CallButton
            label="Disable"
            call={API.disableKey(ids)}
            done="The key is disabled: it does nothing until it is enabled."
            onDone={onChange}
          />
        ) : (
          <CallButton label="Enable" call={API.enableKey(ids)} done="The key is enabled." onDone={onChange} />
        )}
        <CallButton
          label="Delete"
          confirm="Delete the key for good?"
          call={API.deleteKey(ids)}
          done="The key is deleted."
          onDone={() => go(`/vaults/${vaultId}`)}
        />
      </div>
    </Panel>
  );
}

/** The body that a message stands for, in the form that is chosen. */
function messageOf(fields: Fields): object {
  const message = fields.exact("message");
  switch (fields.text("form")) {
    case "personal_sign":
      return { message, options: { format: "personal_sign", encoding: "utf8" } };
    case "typed":
      return { message: fields.json("message", "The message"), options: { format: "eip712" } };
    case "keccak256":
      return { message, options: { encoding: "utf8", digest: "keccak256" } };
    case "utf8":
      return { message, options: { encoding: "utf8" } };
    default:
      return { message: message.trim() };
  }
}

function MessageFields({ spec }: { readonly spec: string }) {
  const forms = ETHEREUM_SPECS.includes(spec)
    ? ([
        ["personal_sign", "a text, as wallets sign it (EIP-191)"],
        ["keccak256", "a text, hashed with Keccak-256"],
        ["typed", "typed data as JSON (EIP-712)"],
        ["hex", "a digest of 32 bytes, hexadecimal"],
      ] as const)
    : ([
        ["utf8", "a text"],
        ["hex", "bytes, hexadecimal"],
      ] as const);
  return (
    <>
      <Field label="Message">
        <textarea name="message" rows={3} required spellcheck={false} />
      </Field>
      <Field label="The message is">
        <Choice name="form" options={forms} />
      </Field>
    </>
  );
}

function SignPanel({ vaultId, vaultKey }: KeyProps) {
  const [made, setMade] = useState<Signature>();
  return (
    <Panel title="Sign a message">
      <Form<Signature>
        submit="Sign"
        call={(fields) => API.sign([vaultId, vaultKey.id], messageOf(fields))}
        onDone={setMade}
      >
        <MessageFields spec={vaultKey.spec} />
      </Form>
      {made === undefined ? null : (
        <div class="outcome" aria-live="polite">
          <p class="row">
            <b>Signature</b> <CopyButton text={made.signature} />
          </p>
          <pre class="wrap" tabIndex={0} aria-label="Signature">
            {made.signature}
          </pre>
        </div>
      )}
    </Panel>
  );
}

function VerifyPanel({ vaultId, vaultKey }: KeyProps) {
  const [result, setResult] = useState<boolean>();
  return (
    <Panel title="Verify a signature">
      <Form<{ verified: boolean }>
        submit="Verify"
        call={(fields) => {
          setResult(undefined);
          return API.verifySignature([vaultId, vaultKey.id], {
            ...messageOf(fields),
            signature: fields.text("signature"),
          });
        }}
        onDone={(body) => setResult(body.verified)}
      >
        <MessageFields spec={vaultKey.spec} />
        <Field label="Signature" hint="Hexadecimal.">
          <textarea name="signature" class="code" rows={2} required spellcheck={false} />
        </Field>
      </Form>
      <div aria-live="polite">{result === undefined ? null : <Badge word={result ? "verified" : "rejected"} />}</div>
    </Panel>
  );
}

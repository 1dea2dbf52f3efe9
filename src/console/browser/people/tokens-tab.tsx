/** The user's sessions and personal access tokens. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { ShowCall } from "../parts/call-drawer.js";
import { CopyButton } from "../parts/copy.js";
import { CallButton, Form } from "../parts/form.js";
import type { Token, User } from "../parts/records.js";
import { Ago, Field, Loaded, Panel, Table } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { permissionBits, permissionNames, type PermissionName } from "./permissions.js";
import { Permissions } from "./users-tab.js";

const LIST_MAX = 100;
const DAYS = 90;

/** The tab. */
export function TokensTab({ userId }: { readonly userId: string }) {
  const call = API.tokens([], undefined, { rpp: LIST_MAX });
  const data = useData<readonly Token[]>(call);
  const [made, setMade] = useState<string>();
  return (
    <div class="columns wide">
      <div>
        {made === undefined ? null : (
          <Panel title="Your new token" aside={<CopyButton text={made} />}>
            <p>It is shown this once. Keep it where your programs find it.</p>
            <pre class="wrap" tabIndex={0} aria-label="The token">
              {made}
            </pre>
          </Panel>
        )}
        <Panel title="Tokens and sessions" aside={<ShowCall call={() => call} />}>
          <Loaded data={data}>{(rows) => <Rows rows={rows} onChange={data.reload} />}</Loaded>
        </Panel>
      </div>
      <NewToken
        userId={userId}
        onDone={(text) => {
          setMade(text);
          data.reload();
        }}
      />
    </div>
  );
}

function Rows({ rows, onChange }: { readonly rows: readonly Token[]; readonly onChange: () => void }) {
  return (
    <Table
      label="Tokens and sessions"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { title: "Name", cell: ({ name, kind }) => name ?? (kind === "session" ? "a login" : "–") },
        { title: "Kind", cell: ({ kind }) => kind },
        { title: "Permissions", cell: ({ permissions }) => <Permissions bits={permissions} /> },
        { title: "Last used", cell: ({ last_used_at }) => (last_used_at === null ? "–" : <Ago at={last_used_at} />) },
        { title: "Expires", cell: ({ expires_at }) => new Date(expires_at).toLocaleDateString() },
        {
          title: "",
          cell: ({ id }) => (
            <CallButton label="Revoke" confirm="Revoke it now?" call={API.revokeToken([id])} onDone={onChange} />
          ),
        },
      ]}
    />
  );
}

function NewToken({ userId, onDone }: { readonly userId: string; readonly onDone: (text: string) => void }) {
  const user = useData<User>(API.user([userId]));
  return (
    <Panel title="New token for programs">
      <Loaded data={user}>
        {({ permissions }) => <TokenForm names={permissionNames(permissions)} onDone={onDone} />}
      </Loaded>
    </Panel>
  );
}

/** The user may give on what they may do. */
function TokenForm(props: { readonly names: readonly PermissionName[]; readonly onDone: (text: string) => void }) {
  const { names, onDone } = props;
  return (
    <Form<{ access_token: string }>
      submit="Make token"
      call={(fields) => {
        const chosen = names.filter((name) => fields.has(`permission_${name}`));
        if (chosen.length === 0) throw new Error("Choose what the token may do.");
        return API.createToken([], {
          name: fields.text("name"),
          permissions: permissionBits(chosen),
          expires_in_days: Number(fields.text("days")),
        });
      }}
      onDone={({ access_token: text }, form) => {
        form.reset();
        onDone(text);
      }}
    >
      <Field label="Name">
        <input name="name" required maxLength={100} autocomplete="off" />
      </Field>
      <Field label="Days until it expires">
        <input name="days" type="number" min={1} max={366} defaultValue={String(DAYS)} required />
      </Field>
      <fieldset>
        <legend>It may</legend>
        <div class="checks">
          {names.map((name) => (
            <label class="check" key={name}>
              <input type="checkbox" name={`permission_${name}`} defaultChecked={name === "read"} />{" "}
              {name.replaceAll("_", " ")}
            </label>
          ))}
        </div>
      </fieldset>
    </Form>
  );
}

/** The users whom one may see, one's own account, and invitations. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { ShowCall } from "../parts/call-drawer.js";
import { Id } from "../parts/copy.js";
import { Form } from "../parts/form.js";
import { Pager, ROWS } from "../parts/pager.js";
import type { User } from "../parts/records.js";
import { tell } from "../parts/toasts.js";
import { Ago, Field, Loaded, Panel, Table } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { permissionNames } from "./permissions.js";

/** The tab. */
export function UsersTab({ userId }: { readonly userId: string }) {
  const [page, setPage] = useState(1);
  const call = API.users([], undefined, { page, rpp: ROWS });
  const data = useData<readonly User[]>(call);
  return (
    <div class="columns wide">
      <Panel title="Users" aside={<ShowCall call={() => call} />}>
        <Loaded data={data}>
          {(rows) => (
            <Table
              label="Users"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: "Name", cell: ({ id, name }) => (id === userId ? `${name} (you)` : name) },
                { title: "E-mail", cell: ({ email }) => email ?? "–" },
                { title: "Permissions", cell: ({ permissions }) => <Permissions bits={permissions} /> },
                { title: "Id", cell: ({ id }) => <Id text={id} /> },
                { title: "Since", cell: ({ created_at }) => <Ago at={created_at} /> },
              ]}
            />
          )}
        </Loaded>
        <Pager page={page} total={data.total} onPage={setPage} />
      </Panel>
      <div>
        <Account userId={userId} onDone={data.reload} />
        <Invitation />
      </div>
    </div>
  );
}

/** A set of bits as a number of names; all of them when pointed at. */
export function Permissions({ bits }: { readonly bits: number }) {
  const names = permissionNames(bits);
  const isAll = names.includes("sudo");
  return (
    <span title={names.join(", ")}>
      {isAll
        ? "administrator"
        : `${String(names.length)}: ${names.slice(0, 3).join(", ")}${names.length > 3 ? " …" : ""}`}
    </span>
  );
}

function Account({ userId, onDone }: { readonly userId: string; readonly onDone: () => void }) {
  const user = useData<User & { first_name: string; last_name: string }>(API.user([userId]));
  return (
    <Panel title="Your account">
      <Loaded data={user}>
        {(own) => (
          <Form
            submit="Save"
            call={(fields) =>
              API.updateUser([userId], { first_name: fields.text("first_name"), last_name: fields.text("last_name") })
            }
            onDone={() => {
              tell("Your account is changed.");
              onDone();
            }}
          >
            <div class="pair">
              <Field label="First name">
                <input name="first_name" defaultValue={own.first_name} required autocomplete="given-name" />
              </Field>
              <Field label="Last name">
                <input name="last_name" defaultValue={own.last_name} required autocomplete="family-name" />
              </Field>
            </div>
          </Form>
        )}
      </Loaded>
    </Panel>
  );
}

function Invitation() {
  return (
    <Panel title="Invite by mail">
      <Form
        submit="Send invitation"
        call={(fields) => API.invite([], { email: fields.text("email") })}
        onDone={(_, form) => {
          form.reset();
          tell("The invitation is on its way.");
        }}
      >
        <Field label="E-mail">
          <input name="email" type="email" required autocomplete="off" />
        </Field>
      </Form>
    </Panel>
  );
}

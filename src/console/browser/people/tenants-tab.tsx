/** Organizations or applications: groups of users that own things together. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { ShowCall } from "../parts/call-drawer.js";
import { Id } from "../parts/copy.js";
import { CallButton, Form } from "../parts/form.js";
import type { Tenant, User } from "../parts/records.js";
import { tell } from "../parts/toasts.js";
import { Ago, Empty, Field, Loaded, Panel, Table } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { Permissions } from "./users-tab.js";

const LIST_MAX = 100;
const KINDS = {
  organizations: {
    title: "Organizations",
    list: API.organizations,
    create: API.createOrganization,
    remove: API.deleteOrganization,
    submit: "Found organization",
    about: "An organization owns vaults, provers and accounts together with its members.",
  },
  applications: {
    title: "Applications",
    list: API.applications,
    create: API.createApplication,
    remove: API.deleteApplication,
    submit: "Create application",
    about: "An application acts with tokens of its own, and can have users of its own.",
  },
} as const;

/** The tab. */
export function TenantsTab({ kind }: { readonly kind: keyof typeof KINDS }) {
  const { title, list, remove, about } = KINDS[kind];
  const call = list([], undefined, { rpp: LIST_MAX });
  const data = useData<readonly Tenant[]>(call);
  const [chosen, setChosen] = useState<Tenant>();
  return (
    <div class="columns wide">
      <div>
        <Panel title={title} aside={<ShowCall call={() => call} />}>
          <Loaded data={data} empty={<Empty title={`No ${title.toLowerCase()} yet`}>{about}</Empty>}>
            {(rows) => (
              <Table
                label={title}
                rows={rows}
                keyOf={({ id }) => id}
                columns={[
                  {
                    title: "Name",
                    cell: (row) =>
                      kind === "organizations" ? (
                        <button type="button" class="link" onClick={() => setChosen(row)}>
                          {row.name}
                        </button>
                      ) : (
                        row.name
                      ),
                  },
                  { title: "Description", cell: ({ description }) => description ?? "" },
                  { title: "Id", cell: ({ id }) => <Id text={id} /> },
                  { title: "Created", cell: ({ created_at }) => <Ago at={created_at} /> },
                  {
                    title: "",
                    cell: ({ id, name }) => (
                      <CallButton
                        label="Delete"
                        confirm={`Delete ${name} with everything that only it owns?`}
                        call={remove([id])}
                        onDone={data.reload}
                      />
                    ),
                  },
                ]}
              />
            )}
          </Loaded>
        </Panel>
        {chosen === undefined ? null : <Members key={chosen.id} organization={chosen} />}
      </div>
      <NewTenant kind={kind} onDone={data.reload} />
    </div>
  );
}

function Members({ organization }: { readonly organization: Tenant }) {
  const call = API.members([organization.id], undefined, { rpp: LIST_MAX });
  const data = useData<readonly User[]>(call);
  return (
    <Panel title={`Members of ${organization.name}`} aside={<ShowCall call={() => call} />}>
      <Loaded data={data}>
        {(rows) => (
          <Table
            label="Members"
            rows={rows}
            keyOf={({ id }) => id}
            columns={[
              { title: "Name", cell: ({ name }) => name },
              { title: "Permissions", cell: ({ permissions }) => <Permissions bits={permissions} /> },
            ]}
          />
        )}
      </Loaded>
      <Form
        submit="Add member"
        call={(fields) => API.addMember([organization.id], { user_id: fields.text("user_id") })}
        onDone={(_, form) => {
          form.reset();
          data.reload();
        }}
      >
        <Field label="Id of a user">
          <input name="user_id" class="code" required autocomplete="off" />
        </Field>
      </Form>
    </Panel>
  );
}

function NewTenant({ kind, onDone }: { readonly kind: keyof typeof KINDS; readonly onDone: () => void }) {
  const { create, submit } = KINDS[kind];
  return (
    <Panel title="New">
      <Form<Tenant>
        submit={submit}
        call={(fields) => create([], { name: fields.text("name"), description: fields.text("description") })}
        onDone={({ name }, form) => {
          form.reset();
          tell(`${name} is made.`);
          onDone();
        }}
      >
        <Field label="Name">
          <input name="name" required maxLength={200} autocomplete="off" />
        </Field>
        <Field label="Description">
          <input name="description" maxLength={1000} autocomplete="off" />
        </Field>
      </Form>
    </Panel>
  );
}

/** The choice of a network, and of an account on it, in forms. */
import { API } from "../parts/api-calls.js";
import { short } from "../parts/format.js";
import type { Account, Network } from "../parts/records.js";
import { Choice, Field } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";

const LIST_MAX = 100;

/** The user's networks, by name. */
export function NetworkChoice({
  value,
  onChange,
}: {
  readonly value?: string;
  readonly onChange?: (id: string) => void;
}) {
  const { body = [] } = useData<readonly Network[]>(API.networks([], undefined, { rpp: LIST_MAX }));
  return (
    <Field label="Network" {...(body.length === 0 ? { hint: <a href="#/chain">Create a network first.</a> } : {})}>
      <Choice
        name="network_id"
        options={body.map(({ id, name }) => [id, name] as const)}
        {...(value === undefined ? {} : { value })}
        {...(onChange === undefined ? {} : { onChange })}
      />
    </Field>
  );
}

/** The user's accounts, by address; on one network, or on all. */
export function AccountChoice({ networkId }: { readonly networkId?: string }) {
  const call = API.accounts([], undefined, { network_id: networkId, rpp: LIST_MAX });
  const { body = [] } = useData<readonly Account[]>(call);
  return (
    <Field
      label="Account"
      {...(body.length === 0 ? { hint: <a href="#/chain/accounts">Create an account first.</a> } : {})}
    >
      <Choice name="account_id" options={body.map(({ id, address }) => [id, short(address, 12, 8)] as const)} />
    </Field>
  );
}

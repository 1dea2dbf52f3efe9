/** The user's contracts, and a form that deploys or registers one. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { ShowCall } from "../parts/call-drawer.js";
import type { Call } from "../parts/calls.js";
import { Id } from "../parts/copy.js";
import { Form, type Fields } from "../parts/form.js";
import type { Contract } from "../parts/records.js";
import { go } from "../parts/router.js";
import { Ago, Badge, Choice, Empty, Field, Loaded, Panel, Table } from "../parts/ui.js";
import { useData } from "../parts/use-data.js";
import { AccountChoice, NetworkChoice } from "./choose-network.js";

const LIST_MAX = 100;
const EVERY_MS = 3000;
const WAYS = [
  ["solidity", "Compile Solidity and deploy it"],
  ["artifact", "Deploy a compiled artifact"],
  ["register", "Register one that is there"],
] as const;
const EXAMPLE = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

contract Counter {
    uint256 public count;
    event Counted(uint256 count);

    function add(uint256 steps) external {
        count += steps;
        emit Counted(count);
    }
}
`;

/** The tab. */
export function ContractsTab() {
  const call = API.contracts([], undefined, { rpp: LIST_MAX, sort: "recent" });
  const data = useData<readonly Contract[]>(call, EVERY_MS);
  return (
    <div class="columns wide">
      <Panel title="Contracts" aside={<ShowCall call={() => call} />}>
        <Loaded
          data={data}
          empty={
            <Empty title="No contract yet">Deploy one from Solidity, or register one that is there already.</Empty>
          }
        >
          {(rows) => (
            <Table
              label="Contracts"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: "Name", cell: ({ id, name }) => <a href={`#/chain/contracts/${id}`}>{name}</a> },
                { title: "Address", cell: ({ address }) => (address === "0x" ? "–" : <Id text={address} />) },
                { title: "Status", cell: ({ status }) => <Badge word={status} /> },
                { title: "Created", cell: ({ created_at }) => <Ago at={created_at} /> },
              ]}
            />
          )}
        </Loaded>
      </Panel>
      <NewContract />
    </div>
  );
}

function NewContract() {
  const [way, setWay] = useState<string>("solidity");
  const [networkId, setNetworkId] = useState<string>();
  return (
    <Panel title="New contract">
      <Field label="How">
        <Choice name="way" options={WAYS} value={way} onChange={setWay} />
      </Field>
      <Form<Contract>
        submit={way === "register" ? "Register" : "Deploy"}
        call={(fields) => contractCall(way, fields)}
        onDone={({ id }) => go(`/chain/contracts/${id}`)}
      >
        <Field label="Name">
          <input name="name" required maxLength={200} autocomplete="off" />
        </Field>
        <NetworkChoice {...(networkId === undefined ? {} : { value: networkId })} onChange={setNetworkId} />
        {way === "register" ? (
          <Field label="Address">
            <input name="address" class="code" required pattern="0x[0-9a-fA-F]{40}" autocomplete="off" />
          </Field>
        ) : (
          <AccountChoice {...(networkId === undefined ? {} : { networkId })} />
        )}
        <CodeField way={way} />
      </Form>
    </Panel>
  );
}

function CodeField({ way }: { readonly way: string }) {
  if (way === "register")
    return (
      <Field label="ABI" hint="A JSON list. Forms are made of it.">
        <textarea name="abi" class="code" rows={8} required spellcheck={false} />
      </Field>
    );
  return (
    <>
      {way === "solidity" ? (
        <Field label="Solidity">
          <textarea
            key="solidity"
            name="source"
            class="code"
            rows={14}
            required
            spellcheck={false}
            defaultValue={EXAMPLE}
          />
        </Field>
      ) : (
        <Field label="Artifact" hint="JSON with abi and bytecode, as Foundry and Hardhat write it.">
          <textarea key="artifact" name="artifact" class="code" rows={8} required spellcheck={false} />
        </Field>
      )}
      <Field label="Arguments of the constructor" hint="A JSON list; empty for none.">
        <input name="argv" class="code" placeholder="[]" autocomplete="off" spellcheck={false} />
      </Field>
    </>
  );
}

function contractCall(way: string, fields: Fields): Call {
  const base = { network_id: fields.text("network_id"), name: fields.text("name") };
  if (base.network_id === "") throw new Error("Create a network first.");
  if (way === "register")
    return API.createContract([], {
      ...base,
      address: fields.text("address"),
      params: { abi: fields.json("abi", "The ABI") },
    });
  if (fields.text("account_id") === "") throw new Error("Create an account on this network first.");
  const argv = fields.json("argv", "The list of arguments");
  const source = fields.exact("source");
  // The last contract of a file is the one that is meant, as a rule; the others are what it needs.
  const contractName = [...source.matchAll(/^\s*contract\s+([A-Za-z_$][\w$]*)/gm)].at(-1)?.[1];
  return API.createContract([], {
    ...base,
    address: "0x",
    params: {
      account_id: fields.text("account_id"),
      ...(argv === undefined ? {} : { argv }),
      ...(way === "solidity"
        ? { raw_source: source, ...(contractName === undefined ? {} : { contract_name: contractName }) }
        : { compiled_artifact: fields.json("artifact", "The artifact") }),
    },
  });
}

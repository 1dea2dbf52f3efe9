/** Commands of networks, contracts and transactions that read files or wait. */
import { StartError } from "../../platform/start-error.js";
import { waitFor } from "../../sdk/delays.js";
import type { Proofwright } from "../../sdk/proofwright.js";
import type { Contract, Transaction } from "../../sdk/types.js";
import { parseJson, readTextFile } from "../read-text-file.js";
import type { CommandInput } from "./command-spec.js";
import { recordLines } from "./print-records.js";
import { printResult } from "./print-result.js";
import { signedIn } from "./signed-in.js";

type NetworkConfig = Parameters<Proofwright["networks"]["create"]>[0]["config"];
type ContractParams = NonNullable<Parameters<Proofwright["contracts"]["create"]>[0]["params"]>;
type ExecuteBody = Parameters<Proofwright["contracts"]["execute"]>[1];

/** More than the server takes; it says how much that is. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;

/** Registers a network. */
export async function runNetworkCreate(input: CommandInput): Promise<number> {
  const [file, url] = [input.text("config"), input.text("rpcUrl")];
  if (file === undefined && url === undefined)
    throw new StartError("the network needs a node: --rpc-url=URL or --config=FILE.");
  const config = {
    ...(file === undefined ? {} : await readObject<NetworkConfig>(file)),
    ...(url === undefined ? {} : { json_rpc_url: url }),
  };
  const client = await signedIn(input.flags);
  const network = await client.networks.create({
    ...{ name: input.argument(0), config },
    is_production: input.isSet("production"),
  });
  printResult(input.flags, network, () => recordLines(network));
  return 0;
}

/** Deploys a contract. Returns 0 when it is deployed, or on its way with --no-wait; 1 when that failed. */
export async function runContractDeploy(input: CommandInput): Promise<number> {
  const file = input.argument(0);
  const name = input.text("name");
  const params = {
    ...(await programOf(file, input.text("contract"))),
    ...{ account: input.required("account"), argv: await argumentsOf(input, 1) },
    ...input.members({ wei: "value" }),
  };
  const client = await signedIn(input.flags);
  const created = await client.contracts.create({
    network_id: input.required("network"),
    ...(name === undefined ? {} : { name }),
    params,
  });
  const contract = input.isSet("wait") ? await deployed(client, created) : created;
  printResult(input.flags, contract, () =>
    contract.status === "failed"
      ? ["The contract could not be deployed.", ...contract.errors.map(({ message }) => message)]
      : recordLines(contract),
  );
  return contract.status === "failed" ? 1 : 0;
}

/** Reads from a contract. */
export async function runContractCall(input: CommandInput): Promise<number> {
  const answer = await execute(input, input.members({ from: "from" }));
  const value = "response" in answer ? answer.response : answer;
  printResult(input.flags, answer, () => [typeof value === "string" ? value : JSON.stringify(value)]);
  return 0;
}

/** Sends a transaction to a contract, and follows it. */
export async function runContractExecute(input: CommandInput): Promise<number> {
  const answer = await execute(input, input.members({ account: "account", wei: "value" }));
  if ("response" in answer) {
    printResult(input.flags, answer, () => [JSON.stringify(answer.response)]);
    return 0;
  }
  return await follow(await signedIn(input.flags), answer.ref, input);
}

/** Sends a transaction, and follows it. */
export async function runTransactionSend(input: CommandInput): Promise<number> {
  const client = await signedIn(input.flags);
  const { id } = await client.transactions.create({
    ...{ network_id: input.required("network"), account_id: input.required("account"), to: input.required("to") },
    ...input.members({ wei: "value", data: "data", ref: "ref" }),
  });
  return await follow(client, id, input);
}

/** Follows a transaction until it is in a block. */
export async function runTransactionWatch(input: CommandInput): Promise<number> {
  const transaction = await whenMined(await signedIn(input.flags), input.argument(0));
  printResult(input.flags, transaction, () => recordLines(transaction));
  return 0;
}

/** @throws TransactionError when the transaction failed, was replaced or cancelled */
async function follow(client: Proofwright, id: string, input: CommandInput): Promise<number> {
  const transaction = input.isSet("wait") ? await whenMined(client, id) : await client.transactions.get(id);
  printResult(input.flags, transaction, () => recordLines(transaction));
  return 0;
}

/** Each state goes to standard error, so that a pipe gets the transaction alone. */
async function whenMined(client: Proofwright, id: string): Promise<Transaction> {
  return await client.transactions.waitUntilMined(id, {
    onProgress: ({ state, hash }) => {
      process.stderr.write(`${state}${hash === null ? "" : ` ${hash}`}\n`);
    },
  });
}

async function deployed(client: Proofwright, { id }: Contract): Promise<Contract> {
  return await waitFor(
    `the deployment of ${id}`,
    async () => {
      const value = await client.contracts.get(id);
      return { value, isFinal: ["deployed", "failed", "registered"].includes(value.status) };
    },
    {},
  );
}

async function execute(input: CommandInput, members: Partial<Record<string, string>>) {
  const body: ExecuteBody = { method: input.argument(1), params: await argumentsOf(input, 2), ...members };
  return await (await signedIn(input.flags)).contracts.execute(input.argument(0), body);
}

/** What a compiler wrote, or a source that the server compiles. */
async function programOf(file: string, contractName: string | undefined): Promise<ContractParams> {
  if (!file.endsWith(".sol")) return { compiled_artifact: await readObject<object>(file) };
  return {
    raw_source: await readTextFile(file, FILE_BYTES_MAX),
    ...(contractName === undefined ? {} : { contract_name: contractName }),
  };
}

/** Integers stay texts, so that large ones stay exact; booleans, lists and objects are JSON. */
async function argumentsOf(input: CommandInput, place: number): Promise<unknown[]> {
  const file = input.text("arguments");
  if (file === undefined)
    return input.arguments(place).map((text) => (/^(?:\[|\{|true$|false$)/.test(text) ? parseJson(text, text) : text));
  if (input.arguments(place).length > 0)
    throw new StartError("arguments come from the command line or from --arguments, not from both.");
  const list = parseJson(await readTextFile(file, FILE_BYTES_MAX), file);
  if (!Array.isArray(list)) throw new StartError(`${file} holds no JSON list.`);
  return list as unknown[];
}

/** @throws StartError when the file cannot be read or holds no object of JSON */
async function readObject<T extends object>(path: string): Promise<T> {
  const value = parseJson(await readTextFile(path, FILE_BYTES_MAX), path);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new StartError(`${path} holds no JSON object.`);
  // The server says which members are wrong.
  return value as T;
}

/** Networks, accounts, contracts and transactions. */
import type { CommandSpec, OptionSpec } from "../command-spec.js";
import { LIMIT, answering, limited } from "../command-spec.js";
import { tableOf } from "../print-records.js";

const NETWORK: OptionSpec = { flag: "--network <network>", summary: "the network" };
const ACCOUNT: OptionSpec = { flag: "--account <account>", summary: "the account that pays" };
const VALUE: OptionSpec = { flag: "--wei <amount>", summary: "wei to send along" };
const NO_WAIT: OptionSpec = { flag: "--no-wait", summary: "do not wait for a block" };
const ARGUMENTS_FILE: OptionSpec = {
  flag: "--arguments <file>",
  summary: "a JSON list of all arguments, in place of those on the command line",
};

/** The commands of networks. */
export const NETWORK_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "network create <name>",
    summary: "register a network",
    options: [
      { flag: "--rpc-url <url>", summary: "address of its node; one with a key in it belongs into --config" },
      { flag: "--config <file>", summary: "JSON of its `config`, as in POST /networks; /dev/stdin for a pipe" },
      { flag: "--production", summary: "it is no test network" },
    ],
    run: async (input) => (await chain()).runNetworkCreate(input),
  },
  {
    usage: "network list",
    summary: "list the networks",
    options: [LIMIT],
    run: answering(
      async (client, input) => limited(client.networks.list(), input),
      tableOf(["id", "chain_id", "name"], "There is no network. `proofwright network create NAME` registers one."),
    ),
  },
  {
    usage: "network show <network>",
    summary: "show a network",
    run: answering(async (client, input) => client.networks.get(input.argument(0))),
  },
  {
    usage: "network status <network>",
    summary: "say how a network is, and what its newest block is",
    run: answering(async (client, input) => client.networks.status(input.argument(0))),
  },
  {
    usage: "network delete <network>",
    summary: "delete a network",
    run: answering(async (client, input) => client.networks.delete(input.argument(0))),
  },
];

/** The commands of accounts. */
export const ACCOUNT_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "account create",
    summary: "make an account; its key lies in a vault",
    options: [
      { ...NETWORK, isRequired: true },
      { flag: "--name <name>", summary: "of its key" },
    ],
    run: answering(async (client, input) =>
      client.accounts.create({ network_id: input.required("network"), ...input.members({ name: "name" }) }),
    ),
  },
  {
    usage: "account list",
    summary: "list the accounts",
    options: [NETWORK, LIMIT],
    run: answering(
      async (client, input) => limited(client.accounts.list(input.members({ network: "network_id" })), input),
      tableOf(["id", "address", "network_id"], "There is no account."),
    ),
  },
  {
    usage: "account show <account>",
    summary: "show an account",
    run: answering(async (client, input) => client.accounts.get(input.argument(0))),
  },
];

/** The commands of contracts. */
export const CONTRACT_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "contract deploy <file> [arguments...]",
    summary: "deploy a contract, a compiler's JSON or a Solidity file, and wait for its address",
    options: [
      { ...NETWORK, isRequired: true },
      { ...ACCOUNT, isRequired: true },
      { flag: "--name <name>", summary: "of the contract's record" },
      { flag: "--contract <name>", summary: "which contract of a Solidity file" },
      ARGUMENTS_FILE,
      VALUE,
      NO_WAIT,
    ],
    run: async (input) => (await chain()).runContractDeploy(input),
  },
  {
    usage: "contract list",
    summary: "list the contracts",
    options: [NETWORK, LIMIT],
    run: answering(
      async (client, input) => limited(client.contracts.list(input.members({ network: "network_id" })), input),
      tableOf(["id", "status", "address", "name"], "There is no contract."),
    ),
  },
  {
    usage: "contract show <contract>",
    summary: "show a contract",
    run: answering(async (client, input) => client.contracts.get(input.argument(0))),
  },
  {
    usage: "contract call <contract> <method> [arguments...]",
    summary: "read from a contract; lists and objects are written as JSON",
    options: [ARGUMENTS_FILE, { flag: "--from <address>", summary: "who asks" }],
    run: async (input) => (await chain()).runContractCall(input),
  },
  {
    usage: "contract execute <contract> <method> [arguments...]",
    summary: "send a transaction to a contract, and wait until it is in a block",
    options: [{ ...ACCOUNT, isRequired: true }, ARGUMENTS_FILE, VALUE, NO_WAIT],
    run: async (input) => (await chain()).runContractExecute(input),
  },
];

/** The commands of transactions. */
export const TRANSACTION_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "tx send",
    summary: "send a transaction, and wait until it is in a block",
    options: [
      { ...NETWORK, isRequired: true },
      { flag: "--account <account>", summary: "the account that pays", isRequired: true },
      { flag: "--to <address>", summary: "who gets it", isRequired: true },
      VALUE,
      { flag: "--data <hex>", summary: "its data" },
      { flag: "--ref <name>", summary: "a name of one's own; the same name is sent once" },
      NO_WAIT,
    ],
    run: async (input) => (await chain()).runTransactionSend(input),
  },
  {
    usage: "tx list",
    summary: "list the transactions, newest first",
    options: [NETWORK, LIMIT],
    run: answering(
      async (client, input) => limited(client.transactions.list(input.members({ network: "network_id" })), input),
      tableOf(["id", "state", "created_at", "hash"], "There is no transaction."),
    ),
  },
  {
    usage: "tx show <transaction>",
    summary: "show a transaction, named by its id or ref",
    run: answering(async (client, input) => client.transactions.get(input.argument(0))),
  },
  {
    usage: "tx watch <transaction>",
    summary: "follow a transaction until it is in a block",
    run: async (input) => (await chain()).runTransactionWatch(input),
  },
  {
    usage: "tx bump <transaction>",
    summary: "raise the fees of a transaction that waits",
    run: answering(async (client, input) => client.transactions.bump(input.argument(0))),
  },
  {
    usage: "tx cancel <transaction>",
    summary: "replace a transaction that waits by one that does nothing",
    run: answering(async (client, input) => client.transactions.cancel(input.argument(0))),
  },
];

async function chain() {
  return await import("../chain-commands.js");
}

/** All commands of the client. Parser, help, shell completion and COMMANDS.md are made from this table. */
import type { CommandSpec } from "./command-spec.js";
import { ADMIN_COMMANDS } from "./tables/admin-table.js";
import { ACCOUNT_COMMANDS, CONTRACT_COMMANDS, NETWORK_COMMANDS, TRANSACTION_COMMANDS } from "./tables/chain-table.js";
import { CIRCUIT_COMMANDS } from "./tables/circuit-table.js";
import { EVENT_COMMANDS, completionCommand } from "./tables/event-table.js";
import { LOGIN_COMMANDS } from "./tables/login-table.js";
import { KEY_COMMANDS, SEAL_COMMANDS, SECRET_COMMANDS, VAULT_COMMANDS } from "./tables/vault-table.js";

/** All commands, in the order of the reference. */
export const COMMAND_TABLE: readonly CommandSpec[] = [
  ...LOGIN_COMMANDS,
  ...CIRCUIT_COMMANDS,
  ...VAULT_COMMANDS,
  ...KEY_COMMANDS,
  ...SECRET_COMMANDS,
  ...SEAL_COMMANDS,
  ...NETWORK_COMMANDS,
  ...ACCOUNT_COMMANDS,
  ...CONTRACT_COMMANDS,
  ...TRANSACTION_COMMANDS,
  ...EVENT_COMMANDS,
  ...ADMIN_COMMANDS,
  completionCommand(() => COMMAND_TABLE),
];

/** Exit statuses of the client's commands. */
export const EXIT_STATUSES: readonly (readonly [status: number, meaning: string])[] = [
  [0, "done"],
  [1, "the answer is no: a proof or signature is not valid, a circuit does not compile, a transaction or job failed"],
  [2, "wrong use"],
  [3, "the server refuses, or a name is of no record, or of several"],
  [4, "not logged in, or the password is wrong"],
  [5, "the server cannot be reached, or is too busy"],
];

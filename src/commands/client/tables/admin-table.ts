/** Users, tokens, applications, organizations, the audit log. */
import type { CommandSpec } from "../command-spec.js";
import { LIMIT, answering, limited, wholeNumber } from "../command-spec.js";
import { tableOf } from "../print-records.js";

const PERMISSIONS_MAX = 2 ** 31 - 1;

/** The commands of administration; which of them a token may use, the server says. */
export const ADMIN_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "admin users",
    summary: "list the users",
    options: [LIMIT, { flag: "--email <address>", summary: "of the user" }],
    run: answering(
      async (client, input) => limited(client.users.list(input.members({ email: "email" })), input),
      tableOf(["id", "email", "permissions", "name"], "There is no such user."),
    ),
  },
  {
    usage: "admin user <user>",
    summary: "show a user",
    run: answering(async (client, input) => client.users.get(input.argument(0))),
  },
  {
    usage: "admin permissions <user> <bits>",
    summary: "set what a user may do, as the sum of the permissions' bits",
    run: answering(async (client, input) => {
      const permissions = await wholeNumber(input.argument(1), "permissions", { min: 0, max: PERMISSIONS_MAX });
      return client.users.update(input.argument(0), { permissions });
    }),
  },
  {
    usage: "admin delete-user <user>",
    summary: "delete a user with everything it owns",
    options: [{ flag: "--myself", summary: "it is the user that is logged in; the login is forgotten as well" }],
    run: async (input) => (await import("../delete-user.js")).runDeleteUser(input),
  },
  {
    usage: "admin tokens",
    summary: "list the tokens and sessions",
    options: [LIMIT],
    run: answering(
      async (client, input) => limited(client.tokens.list(), input),
      tableOf(["id", "kind", "expires_at", "last_used_at", "name"], "There is no token."),
    ),
  },
  {
    usage: "admin token <name>",
    summary: "make a personal access token, such as for PW_TOKEN, and write it into a file or a pipe",
    options: [
      { flag: "--output <file>", summary: "a new file that only its user may read" },
      { flag: "--show", summary: "print it on the terminal" },
      { flag: "--days <number>", summary: "days until it expires" },
    ],
    run: async (input) => (await import("../token-commands.js")).runTokenCreate(input),
  },
  {
    usage: "admin revoke <session>",
    summary: "revoke a token or a session",
    run: answering(async (client, input) => client.tokens.delete(input.argument(0))),
  },
  {
    usage: "admin applications",
    summary: "list the applications",
    options: [LIMIT],
    run: answering(
      async (client, input) => limited(client.applications.list(), input),
      tableOf(["id", "created_at", "name"], "There is no application."),
    ),
  },
  {
    usage: "admin organizations",
    summary: "list the organizations",
    options: [LIMIT],
    run: answering(
      async (client, input) => limited(client.organizations.list(), input),
      tableOf(["id", "created_at", "name"], "There is no organization."),
    ),
  },
  {
    usage: "admin audit",
    summary: "list the records of the audit log, newest first",
    options: [LIMIT, { flag: "--subject <subject>", summary: "who did it, such as user:ID" }],
    run: answering(
      async (client, input) => limited(client.audit.list(input.members({ subject: "subject" })), input),
      tableOf(["number", "at", "outcome", "action", "subject"], "There is no record."),
    ),
  },
];

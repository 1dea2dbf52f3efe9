/** Signing up, logging in and out. */
import type { CommandSpec } from "../command-spec.js";

/** The commands of signing up, logging in and out. */
export const LOGIN_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "signup",
    summary: "create a user with a password that is asked for or piped in, and log in",
    options: [
      { flag: "--email <address>", summary: "the user's address", isRequired: true },
      { flag: "--first-name <name>", summary: "the first name; that of the invitation unless given" },
      { flag: "--last-name <name>", summary: "the last name; that of the invitation unless given" },
      { flag: "--invitation-file <file>", summary: "the token of an invitation to this address" },
      {
        flag: "--bootstrap-file <file>",
        summary: "`bootstrap-token` in the data folder of a new server: the user becomes its first administrator",
      },
    ],
    run: async (input) =>
      (await import("../login-commands.js")).runSignUp({
        ...input.flags,
        ...input.members({
          firstName: "firstName",
          lastName: "lastName",
          invitationFile: "invitationFile",
          bootstrapFile: "bootstrapFile",
        }),
        email: input.required("email"),
      }),
  },
  {
    usage: "login",
    summary: "log in with a browser, or with --email by a password that is asked for or piped in; keep the tokens",
    options: [
      { flag: "--email <address>", summary: "log in with the password of this user, with all of the user's rights" },
      { flag: "--no-browser", summary: "only print the address of the login page" },
      { flag: "--device", summary: "log in with a browser on another device; needs --client-id" },
      { flag: "--client-id <id>", summary: "another OAuth client than that of this program" },
    ],
    run: async (input) =>
      (await import("../login-commands.js")).runLogin({
        ...input.flags,
        ...input.members({ email: "email", clientId: "clientId" }),
        isOnOtherDevice: input.isSet("device"),
        isBrowserOpened: input.isSet("browser"),
      }),
  },
  {
    usage: "logout",
    summary: "end the session, and forget its tokens",
    run: async ({ flags }) => (await import("../login-commands.js")).runLogout(flags),
  },
  {
    usage: "whoami",
    summary: "say who is logged in",
    run: async ({ flags }) => (await import("../login-commands.js")).runWhoAmI(flags),
  },
];

/** Logging in and out. */
import type { CommandSpec } from "../command-spec.js";

/** The commands of logging in and out. */
export const LOGIN_COMMANDS: readonly CommandSpec[] = [
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

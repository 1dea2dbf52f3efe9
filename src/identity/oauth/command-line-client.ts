/**
 * The OAuth client of `proofwright login`: public, built in, and sent back to a program on the user's own machine only
 * (RFC 8252 section 7.3). It may not use the device flow: a stranger could have a user approve the stranger's own
 * device. As of any client, its sessions carry what the scope names, and never the rights of administrators.
 */
/** The same on every server: the command line needs no configuration. No application can get it: ids are random. */
export const COMMAND_LINE_CLIENT_ID = "c0450000-0000-4000-8000-000000000002";
/** As the login page names it. */
export const COMMAND_LINE_NAME = "The Proofwright command line";
/** The port is whichever is free. */
export const COMMAND_LINE_REDIRECT = "http://127.0.0.1/callback";

/** The client of the command line; stored nowhere. */
export const COMMAND_LINE_CLIENT = {
  id: COMMAND_LINE_CLIENT_ID,
  created_at: "1970-01-01T00:00:00.000Z",
  redirect_uris: [COMMAND_LINE_REDIRECT],
  public: true,
  keys: [],
  permissions: 0,
  secret_hash: null,
  secret_created_at: null,
  previous_secret_hash: null,
  previous_secret_until_ms: 0,
};

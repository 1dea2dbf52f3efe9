/** The session that a user's consent opens for an OAuth client, by whichever grant. */
import type { NewSession } from "../tokens/sessions.js";
import { scopePermissions } from "../tokens/scope.js";
import { CONSOLE_CLIENT_ID } from "./console-client.js";

/** What a user agreed to, and when. */
export interface ClientGrant {
  readonly clientId: string;
  readonly userId: string;
  /** Epoch of the user when the session opens. */
  readonly epoch: number;
  readonly scope: string;
  readonly passwordAtMs: number | null;
}

/**
 * Returns the session of a grant: it carries the bits that the scope names, and no others. To the server's own console
 * the user logs in as by POST /authenticate, and so the session is that of a login: no other party holds it.
 */
export function clientSession({ clientId, userId, epoch, scope, passwordAtMs }: ClientGrant): NewSession {
  return {
    subject: { kind: "user", id: userId },
    epoch,
    scope,
    attributes: {
      ...(clientId === CONSOLE_CLIENT_ID ? {} : { client_id: clientId, permissions_max: scopePermissions(scope) }),
      ...(passwordAtMs === null ? {} : { password_at_ms: passwordAtMs }),
    },
  };
}

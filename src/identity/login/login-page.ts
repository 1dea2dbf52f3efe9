/**
 * The page on which a user logs in and grants an OAuth client access: one form. It carries the parameters of the
 * request, so that the server keeps nothing until the user has logged in.
 */
import type { AuthorizeInput } from "../oauth/oauth-schemas.js";
import { credentialFields, escapeHtml, hostOf, htmlPage, nameHtml, warningLine, type HtmlPage } from "./html-page.js";

export interface LoginPageInput {
  readonly applicationName: string;
  readonly request: AuthorizeInput;
  /** The checked address of the client. */
  readonly redirectUri: string;
  /** The names in the granted scope. */
  readonly scopes: readonly string[];
  /** Why the last try failed, for the user to read. */
  readonly message?: string | undefined;
}

const CARRIED_PARAMETERS = [
  "response_type",
  "client_id",
  "redirect_uri",
  "code_challenge",
  "code_challenge_method",
  "scope",
  "state",
  "nonce",
  "id_token_hint",
] as const;

/** Returns the page. */
export function loginPage(input: LoginPageInput): HtmlPage {
  const { request, applicationName, redirectUri, message } = input;
  const hidden = CARRIED_PARAMETERS.flatMap((name) =>
    request[name] === undefined ? [] : [`<input type="hidden" name="${name}" value="${escapeHtml(request[name])}">`],
  );
  return htmlPage({
    title: "Log in",
    formTargets: [redirectUri],
    body: [
      `<p><strong>${nameHtml(applicationName)}</strong> wants to act for you. Afterwards you go to ${escapeHtml(hostOf(redirectUri))}.</p>${scopeLine(input.scopes)}`,
      warningLine(message),
      `<form method="post" action="authorize">${hidden.join("")}`,
      credentialFields(request.login_hint),
      '<button name="decision" value="allow">Log in and allow</button><button name="decision" value="deny" formnovalidate>Deny</button></form>',
    ],
  });
}

/** Returns the line that says what a client asks for; nothing for an empty scope. */
export function scopeLine(scopes: readonly string[]): string {
  return scopes.length === 0 ? "" : `<p>It asks for: ${scopes.map(escapeHtml).join(", ")}.</p>`;
}

/**
 * Logging out at a client's request (OpenID Connect RP-Initiated Logout 1.0). The server keeps no login in the browser,
 * so what ends is the session that the client holds, with its access and refresh tokens. Only an id token, which the
 * client got together with them, names it.
 */
import { invalidMember } from "../../platform/errors.js";
import { isUuid } from "../../platform/ids.js";
import { escapeHtml, hostOf, htmlPage, type HtmlPage } from "../login/html-page.js";
import type { IdentityRepository } from "../repository.js";
import type { Sessions } from "../tokens/sessions.js";
import type { ClientRecord, Clients } from "./clients.js";
import type { IdTokenHint, IdTokens } from "./id-tokens.js";
import type { EndSessionInput } from "./oauth-schemas.js";
import { isRegisteredUri, withQuery } from "./redirect-addresses.js";

export interface EndSessionDependencies {
  readonly repository: IdentityRepository;
  readonly clients: Clients;
  readonly sessions: Sessions;
  readonly idTokens: IdTokens;
}

/** Either the address of the client to redirect to, or a page that says what happened. */
export type EndSessionResult = { readonly location: string } | { readonly page: HtmlPage };

export class EndSession {
  readonly #dependencies: EndSessionDependencies;

  constructor(dependencies: EndSessionDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Ends the session that an id token was issued with. Without an id token of this server nothing ends, and the browser
   * is never sent on by itself (section 3).
   * @throws invalid_request for a client that the id token does not name, and for an address that it did not register
   */
  async end(input: EndSessionInput): Promise<EndSessionResult> {
    const { id_token_hint: text, post_logout_redirect_uri: uri, state } = input;
    const hint = text === undefined ? undefined : await this.#dependencies.idTokens.read(text);
    const client = this.#clientOf(input, hint);
    if (uri !== undefined && !isRegisteredUri(client?.post_logout_redirect_uris ?? [], uri))
      throw invalidMember(
        "post_logout_redirect_uri",
        "post_logout_redirect_uri: it is not registered for the client that client_id or id_token_hint names",
      );
    const target = uri === undefined ? undefined : withQuery(uri, state === undefined ? {} : { state });
    if (hint === undefined) return { page: askedPage(target) };
    await this.#endSession(hint);
    return target === undefined ? { page: endedPage() } : { location: target };
  }

  #clientOf(input: EndSessionInput, hint: IdTokenHint | undefined): ClientRecord | undefined {
    const named = input.client_id?.toLowerCase();
    if (hint !== undefined && named !== undefined && named !== hint.clientId)
      throw invalidMember("client_id", "client_id: the id token was issued to another client");
    const id = hint?.clientId ?? named;
    return id !== undefined && isUuid(id) ? this.#dependencies.clients.find(id) : undefined;
  }

  async #endSession({ userId, clientId, sessionId }: IdTokenHint): Promise<void> {
    if (sessionId === undefined) return;
    const { repository, sessions } = this.#dependencies;
    const subject = { kind: "user", id: userId } as const;
    const session = repository.findSession(subject, sessionId)?.value;
    if (session?.client_id === clientId) await sessions.end(subject, sessionId);
  }
}

function endedPage(): HtmlPage {
  return htmlPage({ title: "Logged out", body: ["<p>You are logged out. You may close this window.</p>"] });
}

/** Without an id token the user decides whether to go on to the address. */
function askedPage(target: string | undefined): HtmlPage {
  const link =
    target === undefined ? "" : `<p><a href="${escapeHtml(target)}">Go to ${escapeHtml(hostOf(target))}</a></p>`;
  return htmlPage({
    title: "Log out",
    body: [
      "<p>This server keeps no login in your browser, so there is nothing to end here. An application that still acts for you must be logged out there.</p>",
      link,
    ],
  });
}

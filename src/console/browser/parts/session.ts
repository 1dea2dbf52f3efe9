/**
 * The login: authorization code with PKCE (RFC 7636) against this server, and tokens that are refreshed before they
 * expire. Tokens are kept in the tab's own storage: a tab that is closed forgets them, and no other site can ask.
 */
import { createStore } from "./store.js";

/** The client that every server has for its own console. */
const CLIENT_ID = "c0450000-0000-4000-8000-000000000001";
const SCOPE = "offline_access";
const SESSION_ITEM = "proofwright.session";
const LOGIN_ITEM = "proofwright.login";
/** A token is replaced this long before it expires, so that none expires under way. */
const REFRESH_AHEAD_MS = 30_000;

export interface Session {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly expiresAtMs: number;
  readonly userId: string;
}

interface PendingLogin {
  readonly state: string;
  readonly verifier: string;
  /** Where the user was. */
  readonly hash: string;
}

interface TokenAnswer {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly expires_in: number;
}

export const session = createStore<Session | undefined>(storedSession());

/** The address to which the server sends the user back; registered for the console, character by character. */
function redirectUri(): string {
  return new URL("./", location.origin + location.pathname).href;
}

/**
 * Leads the browser to the server's login page.
 * @throws Error with a sentence when the server does not know the address at which it is shown
 */
export async function signIn(email?: string): Promise<void> {
  await requireOwnAddress();
  const login: PendingLogin = { state: randomText(), verifier: randomText(), hash: location.hash };
  sessionStorage.setItem(LOGIN_ITEM, JSON.stringify(login));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(login.verifier));
  const query = new URLSearchParams({
    response_type: "code",
    client_id: CLIENT_ID,
    redirect_uri: redirectUri(),
    scope: SCOPE,
    state: login.state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
    ...(email === undefined ? {} : { login_hint: email }),
  });
  location.assign(`api/v1/oauth/authorize?${query.toString()}`);
}

/**
 * Ends a login that the address of the page brings along.
 * @returns a sentence when it failed; undefined otherwise
 */
export async function finishSignIn(): Promise<string | undefined> {
  const query = new URLSearchParams(location.search);
  if (!query.has("code") && !query.has("error")) return undefined;
  const text = sessionStorage.getItem(LOGIN_ITEM);
  sessionStorage.removeItem(LOGIN_ITEM);
  const login = text === null ? undefined : (JSON.parse(text) as PendingLogin);
  // The code must not stay in the history.
  history.replaceState(null, "", location.pathname + (login?.hash ?? ""));
  // Before all else: whoever makes a link to this page could otherwise put words into its mouth.
  if (login?.state !== query.get("state")) return "This login was not begun in this tab. Sign in again.";
  const refusal = query.get("error");
  if (refusal === "access_denied") return "You chose not to log in.";
  if (refusal !== null) return query.get("error_description") ?? refusal;
  try {
    const answer = await tokenRequest({
      grant_type: "authorization_code",
      code: query.get("code") ?? "",
      code_verifier: login.verifier,
      redirect_uri: redirectUri(),
    });
    keep(answer);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

let refreshing: Promise<void> | undefined;

/**
 * Returns a token that is good for now; undefined when nobody is signed in. Refreshes at most once at a time.
 * @param options.refused a token that the server did not take; the same comes back while no other can be had
 */
export async function accessToken({ refused }: { readonly refused?: string } = {}): Promise<string | undefined> {
  const now = session.get();
  if (now === undefined) return undefined;
  if (now.accessToken !== refused && Date.now() < now.expiresAtMs - REFRESH_AHEAD_MS) return now.accessToken;
  refreshing ??= refresh(now).finally(() => {
    refreshing = undefined;
  });
  await refreshing;
  return session.get()?.accessToken;
}

/**
 * Ends the session here and on the server.
 * @throws Error with a sentence when the server could not be told; here it has ended all the same
 */
export async function signOut(): Promise<void> {
  const now = session.get();
  forget();
  // A refresh that is under way ends what it gets.
  await refreshing;
  if (now === undefined) return;
  const { accessToken: bearer, refreshToken, expiresAtMs } = now;
  try {
    if (refreshToken === undefined || Date.now() < expiresAtMs) await revoke(refreshToken ?? bearer, bearer);
    else await revokeTokensOf(await tokenRequest({ grant_type: "refresh_token", refresh_token: refreshToken }));
  } catch (error) {
    // What the server does not take any more has ended there.
    if (!(error instanceof TokenRefused))
      throw new Error(
        "You are signed out here, but the server could not be told. Sign in again and end the login under People, tokens.",
      );
  }
}

/** Forgets the session here. */
export function forget(): void {
  sessionStorage.removeItem(SESSION_ITEM);
  session.set(undefined);
}

async function refresh(now: Session): Promise<void> {
  if (now.refreshToken === undefined) {
    forget();
    return;
  }
  try {
    const answer = await tokenRequest({ grant_type: "refresh_token", refresh_token: now.refreshToken });
    if (session.get() === now) keep(answer);
    // The user has signed out meanwhile.
    else await revokeTokensOf(answer);
  } catch (error) {
    // A server that is away says nothing about the session.
    if (error instanceof TokenRefused && session.get() === now) forget();
  }
}

class TokenRefused extends Error {}

async function revokeTokensOf({ access_token: bearer, refresh_token: token }: TokenAnswer): Promise<void> {
  await revoke(token ?? bearer, bearer);
}

/** Ends the session of a token. The bearer shows whose it is. */
async function revoke(token: string, bearer: string): Promise<void> {
  const answer = await fetch("api/v1/oauth/revoke", {
    method: "POST",
    headers: { "Content-Type": "application/x-www-form-urlencoded", Authorization: `Bearer ${bearer}` },
    body: new URLSearchParams({ token }),
  });
  if (answer.status === 401) throw new TokenRefused("the session has ended");
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
}

async function tokenRequest(members: Readonly<Record<string, string>>): Promise<TokenAnswer> {
  const answer = await fetch("api/v1/oauth/token", {
    method: "POST",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ ...members, client_id: CLIENT_ID }),
  });
  const body = (await answer.json()) as TokenAnswer & { error?: string; error_description?: string };
  if (answer.ok) return body;
  const sentence = body.error_description ?? body.error ?? `the server answered ${answer.status}`;
  throw answer.status < 500 && answer.status !== 429 ? new TokenRefused(sentence) : new Error(sentence);
}

function keep(answer: TokenAnswer): void {
  const next: Session = {
    accessToken: answer.access_token,
    refreshToken: answer.refresh_token,
    expiresAtMs: Date.now() + answer.expires_in * 1000,
    userId: subjectOf(answer.access_token),
  };
  sessionStorage.setItem(SESSION_ITEM, JSON.stringify(next));
  session.set(next);
}

function storedSession(): Session | undefined {
  const text = sessionStorage.getItem(SESSION_ITEM);
  return text === null ? undefined : (JSON.parse(text) as Session);
}

/** The user's id; the token's signature is the server's to check. */
function subjectOf(token: string): string {
  const payload = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
  const { sub } = JSON.parse(atob(payload)) as { sub: string };
  return sub.replace(/^.*:/, "");
}

async function requireOwnAddress(): Promise<void> {
  const answer = await fetch(`api/v1/oauth/applications/${CLIENT_ID}`);
  const own = answer.ok ? ((await answer.json()) as { redirect_uris: string[] }).redirect_uris : [];
  if (own.includes(redirectUri())) return;
  throw new Error(
    own[0] === undefined
      ? "This server does not know its own address. Set PROOFWRIGHT_ISSUER to the address at which you open it, such as https://proofwright.example.com, or start it in development mode on a fixed port."
      : `This server takes logins at ${own[0]} only. Open the console there, or set PROOFWRIGHT_ISSUER to ${location.origin}.`,
  );
}

/** 256 random bits, as RFC 7636 section 7.1 advises. */
function randomText(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}

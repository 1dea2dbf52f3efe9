/** A registered OAuth client of a user, and the steps of a standard client (npm openid-client). */
import { join } from "node:path";
import * as oidc from "openid-client";
import { afterEach, beforeEach } from "vitest";
import type { IdentityOptions } from "../../../src/identity/create-identity.js";
import {
  ID_TOKEN_ALGORITHM,
  ID_TOKEN_KEY_FILE,
  openSigningKeys,
  type SigningKeys,
} from "../../../src/platform/auth/signing-keys.js";
import { systemClock } from "../../../src/platform/clock.js";
import { quietLog, temporaryFolder } from "../../platform/auth/support.js";
import { openHttpHarness, type HttpHarness, type Person } from "../http-support.js";
import { PASSWORD } from "../support.js";
import { secretFile } from "../../../src/platform/files/secret-file.js";

export const REDIRECT = "https://app.example.com/callback";
export const EMAIL = "ada@example.com";
/** Lets the client speak plain HTTP to this machine. The package marks it as deprecated only to make it stand out. */
export const ALLOW_HTTP = Reflect.get(oidc, "allowInsecureRequests");

/** What each test has anew: the server, a user, and the user's application as an OAuth client. */
export interface OAuthSetup {
  harness: HttpHarness;
  owner: Person;
  clientId: string;
  clientSecret: string;
}

/** An authorization request that was not answered yet. */
export interface PendingAuthorization {
  readonly url: URL;
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
}

interface FormResponse {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** One pair of RSA keys for all tests of a file: making them takes longer than most tests. */
let idTokenKeys: Promise<SigningKeys> | undefined;

/** Opens a server with a registered client before each test of the file. */
export function setUpOAuth(options: Partial<IdentityOptions> = {}): OAuthSetup {
  const setup = {} as OAuthSetup;
  beforeEach(async () => {
    const made = (idTokenKeys ??= openSigningKeys(
      { file: secretFile(join(temporaryFolder(), ID_TOKEN_KEY_FILE)), algorithm: ID_TOKEN_ALGORITHM },
      { clock: systemClock, log: quietLog },
    ));
    const harness = await openHttpHarness(options, { idTokenKeys: () => made });
    const owner = await harness.newUser(EMAIL);
    const id = (await owner.api.createApplication({ body: { name: "<b>Engine</b>" } })).body.id;
    await owner.api.updateApplicationClient({
      params: { id },
      body: { redirect_uris: [REDIRECT, "http://127.0.0.1:9999/cb"] },
    });
    const { body } = await owner.api.createApplicationClientSecret({ params: { id } });
    Object.assign(setup, { harness, owner, clientId: id, clientSecret: body.client_secret });
  });
  afterEach(async () => {
    await setup.harness.server.stop({ graceMs: 0 });
  });
  return setup;
}

/** Configures a standard client from the metadata of the server. */
export async function discover(
  { harness, clientId, clientSecret }: OAuthSetup,
  authentication: oidc.ClientAuth = oidc.ClientSecretBasic(clientSecret),
  secret: string | undefined = clientSecret,
): Promise<oidc.Configuration> {
  // The client dates its assertions with the time of day; the server checks them against this clock.
  harness.clock.ms = Date.now();
  return oidc.discovery(new URL(harness.url), clientId, secret, authentication, { execute: [ALLOW_HTTP] });
}

/** Returns an authorization request of a standard client with PKCE. */
export async function pendingAuthorization(
  config: oidc.Configuration,
  scope = "openid profile email offline_access read",
): Promise<PendingAuthorization> {
  const verifier = oidc.randomPKCECodeVerifier();
  const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT,
    scope,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    nonce,
  });
  return { url, verifier, state, nonce };
}

/** Fills the login form as a browser does: hidden members as they stand, then what the user types. */
export async function submitForm(url: URL, typed: Readonly<Record<string, string>>): Promise<Response> {
  const html = await (await fetch(url)).text();
  const hidden = [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(
    ([, name = "", value = ""]) =>
      [name, value.replaceAll("&amp;", "&").replaceAll("&#39;", "'").replaceAll("&quot;", '"')] as const,
  );
  return fetch(new URL("authorize", url), {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams([...hidden, ...Object.entries(typed)] as [string, string][]),
  });
}

/** Posts a form to an OAuth route. */
export async function postForm(
  { harness }: OAuthSetup,
  path: string,
  members: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<FormResponse> {
  const answer = await fetch(`${harness.url}/api/v1/oauth/${path}`, {
    method: "POST",
    headers,
    body: new URLSearchParams(members),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

/** Logs the user in on the page, and returns the redirect to the client with its code. */
export async function codeFor(request: PendingAuthorization): Promise<{ location: URL; code: string }> {
  const answer = await submitForm(request.url, { email: EMAIL, password: PASSWORD, decision: "allow" });
  const location = new URL(answer.headers.get("location")!);
  return { location, code: location.searchParams.get("code")! };
}

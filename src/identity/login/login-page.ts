/**
 * The page on which a user logs in and grants an OAuth client access: plain HTML with one form, no script, no cookie.
 * It carries the parameters of the request, so that the server keeps nothing until the user has logged in.
 */
import { createHash } from "node:crypto";
import type { AuthorizeInput } from "../oauth/oauth-schemas.js";

export interface LoginPageInput {
  readonly applicationName: string;
  readonly request: AuthorizeInput;
  /** The names in the granted scope. */
  readonly scopes: readonly string[];
  /** Why the last try failed, for the user to read. */
  readonly message?: string;
}

export interface LoginPage {
  readonly html: Buffer;
  readonly contentSecurityPolicy: string;
}

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:10vh auto;padding:0 1rem}label{display:block;margin:1rem 0 .25rem}input{width:100%;padding:.5rem;font:inherit;box-sizing:border-box}button{margin:1rem .5rem 0 0;padding:.5rem 1rem;font:inherit}.warn{color:#a00}";
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");
const CARRIED_PARAMETERS = [
  "response_type",
  "client_id",
  "redirect_uri",
  "code_challenge",
  "code_challenge_method",
  "scope",
  "state",
  "nonce",
] as const;

/** Returns the page and the Content-Security-Policy that it needs. */
export function loginPage(input: LoginPageInput): LoginPage {
  const { request, applicationName, scopes, message } = input;
  const hidden = CARRIED_PARAMETERS.flatMap((name) =>
    request[name] === undefined ? [] : [`<input type="hidden" name="${name}" value="${escapeHtml(request[name])}">`],
  );
  const requested = scopes.length === 0 ? "" : `<p>It asks for: ${scopes.map(escapeHtml).join(", ")}.</p>`;
  const html = [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Log in</title><style>${STYLE}</style></head><body>`,
    `<h1>Log in</h1><p><strong>${escapeHtml(applicationName)}</strong> wants to act for you. Afterwards you go to ${escapeHtml(hostOf(request.redirect_uri))}.</p>${requested}`,
    message === undefined ? "" : `<p class="warn" role="alert">${escapeHtml(message)}</p>`,
    `<form method="post" action="authorize">${hidden.join("")}`,
    `<label for="email">E-mail</label><input id="email" name="email" type="email" autocomplete="username" required value="${escapeHtml(request.login_hint ?? "")}">`,
    '<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required>',
    '<button name="decision" value="allow">Log in and allow</button><button name="decision" value="deny" formnovalidate>Deny</button></form></body></html>',
  ].join("\n");
  return { html: Buffer.from(html, "utf8"), contentSecurityPolicy: policyFor(request.redirect_uri) };
}

/** Browsers apply `form-action` also to the redirect that follows the form, so it must name the client's address. */
function policyFor(redirectUri: string): string {
  const { protocol, origin } = new URL(redirectUri);
  const target = origin === "null" ? protocol : origin;
  return `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self' ${target}; base-uri 'none'; frame-ancestors 'none'`;
}

/** The host of an address; of a private scheme the scheme. */
function hostOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return host === "" ? protocol : host;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** The frame of the pages that people meet in a browser: plain HTML, no script, no cookie, nothing from elsewhere. */
import { createHash } from "node:crypto";

/** A page and the Content-Security-Policy that it needs. */
export interface HtmlPage {
  readonly html: Buffer;
  readonly contentSecurityPolicy: string;
}

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:10vh auto;padding:0 1rem}label{display:block;margin:1rem 0 .25rem}input{width:100%;padding:.5rem;font:inherit;box-sizing:border-box}button{margin:1rem .5rem 0 0;padding:.5rem 1rem;font:inherit}.warn{color:#a00}";
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

/**
 * Returns a page.
 * @param input.body lines of HTML, in which every text from outside is escaped (`escapeHtml`)
 * @param input.formTargets addresses to which its forms may lead besides this server. Browsers apply `form-action` also
 *   to the redirect that follows a form.
 */
export function htmlPage(input: {
  readonly title: string;
  readonly body: readonly string[];
  readonly formTargets?: readonly string[];
}): HtmlPage {
  const { title, body, formTargets = [] } = input;
  const head = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>`;
  const html = [head, `<h1>${escapeHtml(title)}</h1>`, ...body, "</body></html>"].join("\n");
  const targets = ["'self'", ...formTargets.map(sourceOf)].join(" ");
  return {
    html: Buffer.from(html, "utf8"),
    contentSecurityPolicy: `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action ${targets}; base-uri 'none'; frame-ancestors 'none'`,
  };
}

/** Returns a text as it may stand in HTML, in an attribute too. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** Returns the host of an address, as a person reads it; of a private scheme the scheme. */
export function hostOf(uri: string): string {
  const { protocol, host } = new URL(uri);
  return host === "" ? protocol : host;
}

/** Returns the line that says why the last try failed; nothing without a message. */
export function warningLine(message: string | undefined): string {
  return message === undefined ? "" : `<p class="warn" role="alert">${escapeHtml(message)}</p>`;
}

/** Returns the fields in which a user enters address and password. */
export function credentialFields(email = ""): string {
  return [
    `<label for="email">E-mail</label><input id="email" name="email" type="email" autocomplete="username" required value="${escapeHtml(email)}">`,
    '<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required>',
  ].join("\n");
}

function sourceOf(uri: string): string {
  const { protocol, origin } = new URL(uri);
  return origin === "null" ? protocol : origin;
}

/** The frame of the pages that people meet in a browser: plain HTML, no script, no cookie, nothing from elsewhere. */
import { createHash } from "node:crypto";

/** A page and the Content-Security-Policy that it needs. */
export interface HtmlPage {
  readonly html: Buffer;
  readonly contentSecurityPolicy: string;
}

const STYLE =
  ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;background:light-dark(#f7f8fa,#101317);color:light-dark(#1a2029,#e6eaf0);margin:0;padding:10vh 1rem}main{max-width:24rem;margin:0 auto;padding:1.75rem;box-sizing:border-box;background:light-dark(#fff,#171b21);border:1px solid light-dark(#dfe3e9,#2a3038);border-radius:12px;overflow-wrap:anywhere}h1{font-size:1.4rem;margin:0 0 .75rem}label{display:block;margin:1rem 0 .25rem}input,button{font:inherit;color:inherit;background:none;border:1px solid light-dark(#8a94a3,#667181);border-radius:6px;box-sizing:border-box}input{width:100%;padding:.5rem}button{margin:1.25rem .5rem 0 0;padding:.45rem 1rem;cursor:pointer}button[value=allow]{background:#2f5fd0;border-color:#2f5fd0;color:#fff}a{color:light-dark(#2453c4,#8ab0ff)}:focus-visible{outline:2px solid light-dark(#2453c4,#8ab0ff);outline-offset:2px}.warn{color:light-dark(#a4262c,#ff9a94)}";
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
  const head = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><main>`;
  const html = [head, `<h1>${escapeHtml(title)}</h1>`, ...body, "</main></body></html>"].join("\n");
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

/**
 * Returns a name that strangers chose, escaped and isolated: characters that turn the direction of a text cannot
 * reorder the sentence in which it stands (Unicode Standard Annex 9).
 */
export function nameHtml(name: string): string {
  return `<bdi>${escapeHtml(name)}</bdi>`;
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

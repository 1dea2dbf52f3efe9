/** A page as the reply of a handler. */
import type { HtmlPage } from "../login/html-page.js";

/** Returns the bytes and headers of a page; no other site may frame it or learn its address. */
export function pageReply({ html, contentSecurityPolicy }: HtmlPage): {
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
} {
  return {
    bytes: html,
    headers: {
      "Content-Security-Policy": contentSecurityPolicy,
      "X-Frame-Options": "DENY",
      "Referrer-Policy": "no-referrer",
    },
  };
}

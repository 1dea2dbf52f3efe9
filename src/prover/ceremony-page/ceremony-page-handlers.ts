/**
 * Serves the ceremonies' page: nothing inline but a style that is named by its hash, no other host, and the headers
 * under which a browser gives workers memory to share (HTML Standard, cross-origin isolation).
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { HandlersFor } from "../../platform/contract/route.js";
import { AppError } from "../../platform/errors.js";
import { PACKAGE_ROOT } from "../../platform/files/package-root.js";
import type { ceremonyPageRoutes } from "./ceremony-page-routes.js";

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
label { display: block; margin: 1rem 0 .2rem; }
input, textarea { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .7rem; border: 1px solid var(--line); border-radius: .4rem; background: transparent; color: inherit; }
button { font: inherit; margin: 1rem 0; padding: .5rem 1.2rem; border-radius: .4rem; }
pre { overflow: auto; padding: .7rem; border: 1px solid var(--line); border-radius: .4rem; white-space: pre-wrap; overflow-wrap: anywhere; }
`;
const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Contribute to a ceremony</title><style>${STYLE}</style></head>
<body>
<h1>Contribute to a ceremony</h1>
<p>Your browser draws a secret, multiplies the key by it, and forgets it. The key is safe as long as one of all contributors did.</p>
<form id="form" hidden>
<label for="name">Name, as it will be published</label><input id="name" maxlength="64" required autocomplete="name">
<label for="entropy">Anything you like, mixed into the secret</label><textarea id="entropy" rows="3" autocomplete="off"></textarea>
<button id="join">Join</button>
</form>
<p id="status" role="status">This page needs JavaScript.</p>
<section id="done" hidden><h2>Your statement</h2><p>Publish it where people know you, so that nobody can take your contribution out.</p><pre id="statement"></pre><button id="sign" type="button" hidden>Sign with your wallet</button></section>
<script type="module" src="ceremony/page.js"></script>
</body>
</html>
`;
/** Workers are isolated only when their own script says so. */
const ISOLATION = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "same-origin",
} as const;

/** Returns the handlers of the routes in ceremony-page-routes.ts. */
export function ceremonyPageHandlers(): HandlersFor<typeof ceremonyPageRoutes> {
  const style = createHash("sha256").update(STYLE).digest("base64");
  const policy = `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'sha256-${style}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  const page = Buffer.from(PAGE, "utf8");
  /** Read once each. */
  const scripts = new Map<string, Uint8Array>();
  const headers = { ...ISOLATION, "Content-Security-Policy": policy };
  return {
    getCeremonyPage: () => ({ status: 200, bytes: page, headers }),
    getCeremonyScript: ({ params: { name } }) => {
      const script = scripts.get(name) ?? readScript(name);
      scripts.set(name, script);
      return { status: 200, bytes: script, headers };
    },
  };
}

function readScript(name: string): Uint8Array {
  try {
    return readFileSync(join(PACKAGE_ROOT, "dist", "ceremony-page", name));
  } catch {
    throw new AppError("not_found", { message: "the page's scripts were not built" });
  }
}

/**
 * Serves the console: a page without anything inline, and its script and style under names that change with their
 * content. Nothing of it is secret, and no other host is asked.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { HandlersFor } from "../platform/contract/route.js";
import { StaticBytes } from "../platform/contract/static-bytes.js";
import { AppError } from "../platform/errors.js";
import { PACKAGE_ROOT } from "../platform/files/package-root.js";
import { readStaticFile } from "../platform/files/static-file.js";
import type { consoleRoutes } from "./console-routes.js";

const FOLDER = join(PACKAGE_ROOT, "dist", "console");
/**
 * Requests go to this server alone, forms are sent by the script, and no other page may show the console. Drawings are
 * part of the page, and the icon is in its address.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%232f5fd0'/%3E%3Cpath d='M9 17l5 5 9-12' fill='none' stroke='white' stroke-width='3.4' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E";

interface Built {
  readonly page: StaticBytes;
  readonly script: Asset;
  readonly style: Asset;
}

interface Asset {
  /** Changes with the content. */
  readonly hash: string;
  readonly fixed: StaticBytes;
}

/** Returns the handlers of the routes in console-routes.ts; the files are read at the first request. */
export function consoleHandlers(): HandlersFor<typeof consoleRoutes> {
  let read: Built | undefined;
  const built = (): Built => (read ??= readBuilt());
  const kept = ({ hash, fixed }: Asset, asked: string) => {
    if (asked !== hash)
      throw new AppError("not_found", { message: "this version of the console is gone; load the page again" });
    return { status: 200, fixed, headers: { "Cache-Control": "public, max-age=31536000, immutable" } } as const;
  };
  return {
    getConsole: () => ({
      status: 200,
      fixed: built().page,
      headers: {
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Frame-Options": "DENY",
      },
    }),
    getConsoleScript: ({ params }) => kept(built().script, params.hash),
    getConsoleStyle: ({ params }) => kept(built().style, params.hash),
  };
}

function readBuilt(): Built {
  try {
    const names = JSON.parse(readFileSync(join(FOLDER, "manifest.json"), "utf8")) as Record<"script" | "style", string>;
    const asset = (name: string): Asset => ({
      hash: /-([A-Z0-9]+)\./.exec(name)?.[1] ?? "",
      fixed: readStaticFile(join(FOLDER, name)),
    });
    const [script, style] = [asset(names.script), asset(names.style)];
    return { script, style, page: new StaticBytes(pageOf(script.hash, style.hash)) };
  } catch {
    throw new AppError("not_found", { message: "the console was not built" });
  }
}

/** Addresses are relative, so that the page also works behind a proxy that puts a path before it. */
function pageOf(script: string, style: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>Proofwright</title><link rel="icon" href="${ICON}"><link rel="stylesheet" href="console/style/${style}"><script type="module" src="console/script/${script}"></script></head>
<body><div id="console"><noscript>The console needs JavaScript. The API is described at <a href="docs">/docs</a>.</noscript></div></body>
</html>
`;
}

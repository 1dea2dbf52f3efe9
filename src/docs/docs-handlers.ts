/**
 * Serves the documentation that the build made: pages without a script of their own text, and scripts and styles under
 * names that change with their content. Everything is the same for everybody, and no other host is asked.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { HandlersFor } from "../platform/contract/route.js";
import type { StaticBytes } from "../platform/contract/static-bytes.js";
import { AppError } from "../platform/errors.js";
import { PACKAGE_ROOT } from "../platform/files/package-root.js";
import { readStaticFile } from "../platform/files/static-file.js";
import type { docsRoutes } from "./docs-routes.js";

const FOLDER = join(PACKAGE_ROOT, "dist", "docs");
const BASE_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/**
 * The reference sends requests to this server alone. It writes styles into the page, so inline styles are allowed;
 * inline scripts and `eval` are not, and nothing of another host is.
 */
const REFERENCE_POLICY = `${BASE_POLICY}; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data: blob:; font-src 'self' data:`;
/** Guides have text and one style. */
const GUIDE_POLICY = `${BASE_POLICY}; style-src 'self'; img-src data:`;

const FOREVER = { "Cache-Control": "public, max-age=31536000, immutable" } as const;
const NOT_BUILT = "the documentation was not built: run npm ci with the development packages, then npm run build";

/** What the build wrote into manifest.json: file names by hash or by name of the page. */
interface Manifest {
  readonly page: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly styles: Readonly<Record<string, string>>;
  readonly index: string;
  readonly guides: Readonly<Record<string, string>>;
}

/**
 * Returns the handlers of the routes in docs-routes.ts. Each file is read when it is first asked for.
 * @param folder where the build put the documentation
 */
export function docsHandlers(folder: string = FOLDER): HandlersFor<typeof docsRoutes> {
  const files = new Map<string, StaticBytes>();
  const fileNamed = (name: string): StaticBytes => {
    const known = files.get(name);
    if (known !== undefined) return known;
    const read = readStaticFile(join(folder, name));
    files.set(name, read);
    return read;
  };
  let read: Manifest | undefined;
  const manifest = (): Manifest => (read ??= readManifest(folder));
  const kept = (table: Readonly<Record<string, string>>, hash: string) => {
    const name = Object.hasOwn(table, hash) ? table[hash] : undefined;
    if (name === undefined)
      throw new AppError("not_found", { message: "this version of the file is gone; load the page again" });
    return { status: 200, fixed: fileNamed(name), headers: FOREVER } as const;
  };
  const guide = (name: string | undefined) => {
    if (name === undefined)
      throw new AppError("not_found", { message: "there is no such guide; /docs/guides lists all" });
    return { status: 200, fixed: fileNamed(name), headers: pageHeaders(GUIDE_POLICY) } as const;
  };
  return {
    getDocs: () => ({ status: 200, fixed: fileNamed(manifest().page), headers: pageHeaders(REFERENCE_POLICY) }),
    getDocsScript: ({ params }) => kept(manifest().scripts, params.hash),
    getDocsStyle: ({ params }) => kept(manifest().styles, params.hash),
    getGuides: () => guide(manifest().index),
    getGuide: ({ params }) => {
      const { guides } = manifest();
      return guide(Object.hasOwn(guides, params.guide) ? guides[params.guide] : undefined);
    },
  };
}

function pageHeaders(policy: string): Record<string, string> {
  return {
    "Content-Security-Policy": policy,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
  };
}

function readManifest(folder: string): Manifest {
  try {
    return JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")) as Manifest;
  } catch {
    throw new AppError("not_found", { message: NOT_BUILT });
  }
}

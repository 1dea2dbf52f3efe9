/**
 * Joins the program of `two-providers-server.ts` with all of its modules, as the build does with the server's own: one
 * file starts several times as fast as hundreds. It lies below dist, where it finds its packages and workers.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";

/** Packages that consist of pure modules; others stay where they are. */
const JOINED_PACKAGES = /^(@noble|@scure|jose|typebox|viem|abitype|ox)(\/|$)/;

export interface TwoProvidersServer {
  /** Path of the program. */
  readonly program: string;
  remove(): void;
}

/** Writes the program, for this process alone. */
export async function writeTwoProvidersServer(): Promise<TwoProvidersServer> {
  const program = join(PACKAGE_ROOT, "dist/test-programs", `two-providers-server-${String(process.pid)}.mjs`);
  await build({
    entryPoints: [join(PACKAGE_ROOT, "test/support/two-providers-server.ts")],
    ...{ outfile: program, bundle: true, format: "esm", platform: "node", target: "node20", logLevel: "warning" },
    plugins: [
      {
        name: "other-packages",
        setup: (joining) => {
          joining.onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
            kind === "entry-point" || JOINED_PACKAGES.test(path) ? undefined : { path, external: true },
          );
        },
      },
    ],
  });
  return {
    program,
    remove: () => {
      rmSync(program, { force: true });
    },
  };
}

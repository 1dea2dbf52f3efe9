/**
 * The package as it would be published: packed, unpacked into the node_modules of an app, and beside it the packages
 * that it depends on, and no others.
 */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { newFolder } from "./temporary-folder.js";

const run = promisify(execFile);

export interface PackedPackage {
  /** Folder of an app with node_modules; the caller removes it. */
  readonly app: string;
  /** Paths in the tarball. */
  readonly files: readonly string[];
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** Packs the built package, and installs it into a new app from the tarball alone. */
export async function packedPackage(): Promise<PackedPackage> {
  const app = newFolder("packed");
  await run(process.execPath, [join(PACKAGE_ROOT, ".config/declare-sdk.js")], { cwd: PACKAGE_ROOT });
  // Built already; a second build would only find that nothing has changed.
  const options = ["--ignore-scripts", "--json", `--pack-destination=${app}`];
  const { stdout } = await run("npm", ["pack", ...options], { cwd: PACKAGE_ROOT, maxBuffer: 64 * 1024 * 1024 });
  const [tarball] = JSON.parse(stdout) as { readonly filename: string; readonly files: { readonly path: string }[] }[];
  if (tarball === undefined) throw new Error("npm pack made no tarball");
  const modules = join(app, "node_modules");
  const own = join(modules, "proofwright");
  mkdirSync(own, { recursive: true });
  await run("tar", ["-xzf", join(app, tarball.filename), "-C", own, "--strip-components=1"]);
  const { dependencies } = JSON.parse(readFileSync(join(own, "package.json"), "utf8")) as Manifest;
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(PACKAGE_ROOT, "node_modules", name), join(modules, name));
  }
  mkdirSync(join(modules, ".bin"));
  symlinkSync(join(own, "dist/src/cli.js"), join(modules, ".bin", "proofwright"));
  cpSync(join(PACKAGE_ROOT, "test/example-app"), app, { recursive: true });
  return { app, files: tarball.files.map(({ path }) => path) };
}

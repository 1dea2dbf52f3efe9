/**
 * Adds the native packages that the server cannot do without where an install has left them out. Their binaries are
 * optional dependencies of lmdb, @node-rs/argon2 and esbuild, because that is how npm chooses one for each system; so
 * `npm ci --omit=optional` leaves them out. Versions and hashes are those of the lockfile, which npm checks.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Packages whose binaries are needed. uWebSockets.js is not: Node's own HTTP serves without it. */
const NEEDED_BY = ["lmdb", "@node-rs/argon2", "esbuild"];

/** Returns whether a list of npm's `os`, `cpu` or `libc` allows a value; `!value` excludes one. */
function allows(list, value) {
  if (list === undefined) return true;
  const entries = [list].flat();
  if (entries.includes(`!${value}`)) return false;
  return entries.includes(value) || entries.every((entry) => entry.startsWith("!"));
}

function cLibrary() {
  if (process.platform !== "linux") return undefined;
  return process.report.getReport().header.glibcVersionRuntime === undefined ? "musl" : "glibc";
}

/**
 * Returns the names of the needed packages that fit a system and are not there.
 * @param {Record<string, object>} packages of the lockfile
 * @param {{os: string, cpu: string, libc?: string}} system
 * @param {(path: string) => boolean} isThere
 */
export function missingParts(packages, system, isThere) {
  return NEEDED_BY.flatMap((name) => Object.keys(packages[`node_modules/${name}`]?.optionalDependencies ?? {})).filter(
    (name) => {
      const part = packages[`node_modules/${name}`];
      return (
        part !== undefined &&
        allows(part.os, system.os) &&
        allows(part.cpu, system.cpu) &&
        (system.libc === undefined || allows(part.libc, system.libc)) &&
        !isThere(`node_modules/${name}`)
      );
    },
  );
}

/** Adds what is missing under `root`. Says what it adds. */
export function addNativeParts(root) {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const system = { os: process.platform, cpu: process.arch, libc: cLibrary() };
  const missing = missingParts(packages, system, (path) => existsSync(join(root, path)));
  if (missing.length === 0) return;
  console.log(`Adding native packages that the server needs: ${missing.join(", ")}`);
  const folder = mkdtempSync(join(tmpdir(), "native-parts-"));
  try {
    const versions = Object.fromEntries(missing.map((name) => [name, packages[`node_modules/${name}`].version]));
    const entries = missing.map((name) => {
      const { optional: _optional, dev: _dev, devOptional: _devOptional, ...entry } = packages[`node_modules/${name}`];
      return [`node_modules/${name}`, entry];
    });
    const project = { name: "native-parts", version: "1.0.0", private: true, dependencies: versions };
    writeFileSync(join(folder, "package.json"), JSON.stringify(project));
    writeFileSync(
      join(folder, "package-lock.json"),
      JSON.stringify({ ...project, lockfileVersion: 3, packages: { "": project, ...Object.fromEntries(entries) } }),
    );
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], {
      cwd: folder,
      stdio: "inherit",
      shell: process.platform === "win32",
      // An install from within an install would take the outer one's folder and omissions.
      env: Object.fromEntries(
        Object.entries(process.env).filter(([name]) => !/^npm_config_(local_prefix|prefix|omit|global)$/i.test(name)),
      ),
    });
    for (const name of missing)
      cpSync(join(folder, "node_modules", name), join(root, "node_modules", name), { recursive: true });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

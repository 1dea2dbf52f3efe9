/** Which binary of uWebSockets.js is taken, and what is said where none loads. */
import { describe, expect, it } from "vitest";
import { loadUwsLibrary, UwsUnavailable } from "../../../src/platform/http/drivers/uws-library.js";

const SYSTEM = { node: "26.10.0", platform: "linux", arch: "x64" };

function missing(name: string): Error {
  return Object.assign(new Error(`Cannot find module '${name}'`), { code: "MODULE_NOT_FOUND" });
}

/** Loads with a registry of packages; a package that is an error fails with it. */
function load(packages: Readonly<Record<string, object>>, system = SYSTEM): { asked: string[]; result: unknown } {
  const asked: string[] = [];
  try {
    const result = loadUwsLibrary(system, (name) => {
      asked.push(name);
      const found = packages[name] ?? missing(name);
      if (found instanceof Error) throw found;
      return found;
    });
    return { asked, result };
  } catch (error) {
    if (!(error instanceof UwsUnavailable)) throw error;
    return { asked, result: error.message };
  }
}

const library = { App: () => undefined };
const oldGlibc = Object.assign(
  new Error("/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by uws.node)"),
  { code: "ERR_DLOPEN_FAILED" },
);

describe("uWebSockets.js", () => {
  it("is the binary of the system and the major version of Node", () => {
    expect(load({ "@uwsjs/linux-x64-26": library })).toEqual({ asked: ["@uwsjs/linux-x64-26"], result: library });
    const mac = { node: "22.1.0", platform: "darwin", arch: "arm64" };
    expect(load({ "@uwsjs/darwin-arm64-22": library }, mac).result).toBe(library);
  });

  it("is the package that the operator installed, where the registry has none for the system", () => {
    expect(load({ "uWebSockets.js": library })).toEqual({
      asked: ["@uwsjs/linux-x64-26", "uWebSockets.js"],
      result: library,
    });
    expect(load({ "@uwsjs/linux-x64-26": oldGlibc, "uWebSockets.js": library }).result).toBe(library);
  });

  it("says that no binary is installed", () => {
    expect(load({}).result).toBe("uWebSockets.js has no binary installed for Node 26.10.0 on linux x64");
  });

  it("says which C library its binary needs", () => {
    expect(load({ "@uwsjs/linux-x64-26": oldGlibc }).result).toBe(
      "uWebSockets.js for Node 26.10.0 needs glibc 2.38 or later, which this system's C library is not",
    );
  });

  it("says that a binary does not load, whichever of the two it is", () => {
    const broken = new Error("invalid ELF header");
    expect(load({ "uWebSockets.js": broken }).result).toBe(
      "uWebSockets.js has no binary that loads for Node 26.10.0 on linux x64",
    );
  });
});

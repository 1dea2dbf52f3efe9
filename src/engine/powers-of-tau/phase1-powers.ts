/** The powers of a file that was checked (check-powers.ts), for the gate of Groth16 keys (groth16/string-gate.ts). */
import { decodeG2 } from "../curves/points.js";
import type { Phase1Powers } from "../groth16/string-gate.js";
import { readLayout, sectionOf } from "./file-layout.js";
import type { PointSection, RangeFile, SectionName } from "./file-layout.js";
import { PowersOfTauError } from "./powers-of-tau-error.js";

const SECTIONS = { tau: "tauG1", alphaTau: "alphaTauG1", betaTau: "betaTauG1" } as const satisfies Record<
  string,
  SectionName
>;

/**
 * Opens a file; its points are read when they are asked for.
 * @throws PowersOfTauError when it is none
 */
export function readPhase1Powers(file: RangeFile): Phase1Powers {
  const layout = readLayout(file);
  const section = (name: SectionName): PointSection => {
    const found = sectionOf(layout, name);
    if (found === undefined) throw new PowersOfTauError("section_missing", `the file has no section ${name}`);
    return found;
  };
  const read = (name: SectionName, count: number): Uint8Array => {
    const { offset, pointBytes, count: most } = section(name);
    if (count > most) throw new RangeError("the file has fewer powers");
    const bytes = new Uint8Array(count * pointBytes);
    file.read(bytes, offset);
    return bytes;
  };
  const betaG2 = decodeG2(read("betaG2", 1), 0, layout.curve);
  if (betaG2 === undefined) throw new PowersOfTauError("header_invalid", "beta in G2 is not on the curve");
  return { curve: layout.curve, power: layout.power, betaG2, powers: (name, count) => read(SECTIONS[name], count) };
}

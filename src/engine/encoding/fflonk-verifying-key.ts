/** FFLONK verifying keys as snarkjs' verification_key.json. */
import type { CurveParameters } from "../curves/curve-parameters.js";
import { BN254 } from "../curves/bn254.js";
import { PUBLIC_SIGNALS_MAX } from "../groth16/proof.js";
import type { FflonkVerifyingKey } from "../fflonk/key.js";
import { fflonkRoots } from "../fflonk/roots.js";
import { COLUMN_FACTORS, DOMAIN_POWER_MIN } from "../plonk/key.js";
import { readCount, readDecimal, readRecord } from "./decimal.js";
import { Malformed, decoding } from "./decoded.js";
import type { Decoded } from "./decoded.js";
import { checkCurveName, g1FromJson, g1ToJson, g2FromJson, g2ToJson } from "./json-points.js";
import type { PointChecks } from "./json-points.js";

/** Numbers that follow from the domain. */
const CONSTANTS = ["k1", "k2", "w", "w3", "w4", "w8", "wr"] as const;

/** snarkjs' verification_key.json for FFLONK. */
export type FflonkVerifyingKeyJson = Readonly<Record<(typeof CONSTANTS)[number], string>> & {
  readonly protocol: "fflonk";
  readonly curve: string;
  readonly nPublic: number;
  readonly power: number;
  readonly X_2: string[][];
  readonly C0: string[];
};

/** Returns the JSON that `snarkjs zkey export verificationkey` writes. */
export function fflonkVerifyingKeyToJson(key: FflonkVerifyingKey, curve: CurveParameters): FflonkVerifyingKeyJson {
  const constants = Object.fromEntries(
    Object.entries(constantsOf(key.domainPower)).map(([name, value]) => [name, String(value)]),
  ) as Record<(typeof CONSTANTS)[number], string>;
  return {
    protocol: "fflonk",
    curve: curve.snarkjsName,
    nPublic: key.publicCount,
    power: key.domainPower,
    ...constants,
    X_2: g2ToJson(key.tauG2),
    C0: g1ToJson(key.c0),
  };
}

/** Reads verification_key.json, given as parsed JSON. */
export function fflonkVerifyingKeyFromJson(value: unknown, checks: PointChecks): Decoded<FflonkVerifyingKey> {
  const { curve } = checks;
  return decoding(() => {
    const required = ["protocol", "curve", "nPublic", "power", ...CONSTANTS, "X_2", "C0"];
    const record = readRecord(value, { required, optional: [] }, "the verifying key");
    if (record.protocol !== "fflonk") throw new Malformed("the verifying key's protocol must be fflonk");
    checkCurveName(record.curve, curve);
    const domainPower = readCount(record.power, "power", { least: DOMAIN_POWER_MIN, most: curve.twoAdicity - 2 });
    const most = Math.min(PUBLIC_SIGNALS_MAX, 2 ** domainPower);
    const publicCount = readCount(record.nPublic, "nPublic", { least: 0, most });
    // With other factors two columns might overlap; with other roots polynomials would be opened elsewhere.
    const constants = constantsOf(domainPower);
    for (const name of CONSTANTS)
      if (readDecimal(record[name], curve.r, name) !== constants[name])
        throw new Malformed(`${name} is not the number that belongs to the domain`);
    return {
      curve: BN254.name,
      publicCount,
      domainPower,
      c0: g1FromJson(record.C0, checks, "C0"),
      tauG2: g2FromJson(record.X_2, checks, "X_2"),
    };
  });
}

function constantsOf(domainPower: number): Readonly<Record<(typeof CONSTANTS)[number], bigint>> {
  return { ...COLUMN_FACTORS, ...fflonkRoots(domainPower) };
}

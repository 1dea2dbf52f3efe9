/** PLONK verifying keys as snarkjs' verification_key.json. */
import { rootOfUnity } from "../curves/curve-parameters.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { G1Point } from "../curves/points.js";
import { PUBLIC_SIGNALS_MAX } from "../groth16/proof.js";
import { COLUMN_FACTORS, DOMAIN_POWER_MIN } from "../plonk/key.js";
import type { PlonkVerifyingKey } from "../plonk/key.js";
import { readCount, readDecimal, readRecord } from "./decimal.js";
import { Malformed, decoding } from "./decoded.js";
import type { Decoded } from "./decoded.js";
import { checkCurveName, g1FromJson, g1ToJson, g2FromJson, g2ToJson } from "./json-points.js";
import type { PointChecks } from "./json-points.js";

/** snarkjs' verification_key.json for PLONK. */
export interface PlonkVerifyingKeyJson {
  readonly protocol: "plonk";
  readonly curve: string;
  readonly nPublic: number;
  readonly power: number;
  readonly k1: string;
  readonly k2: string;
  readonly Qm: string[];
  readonly Ql: string[];
  readonly Qr: string[];
  readonly Qo: string[];
  readonly Qc: string[];
  readonly S1: string[];
  readonly S2: string[];
  readonly S3: string[];
  readonly X_2: string[][];
  /** The domain's root of unity. */
  readonly w: string;
}

const SELECTOR_NAMES = { m: "Qm", l: "Ql", r: "Qr", o: "Qo", k: "Qc" } as const;
const INFINITY_JSON = ["0", "1", "0"];
const MEMBERS = [
  "protocol",
  "curve",
  "nPublic",
  "power",
  "k1",
  "k2",
  ...Object.values(SELECTOR_NAMES),
  "S1",
  "S2",
  "S3",
];

/** Returns the JSON that `snarkjs zkey export verificationkey` writes. */
export function plonkVerifyingKeyToJson(key: PlonkVerifyingKey, curve: CurveParameters): PlonkVerifyingKeyJson {
  const point = (value: G1Point | undefined): string[] => (value === undefined ? [...INFINITY_JSON] : g1ToJson(value));
  const { m, l, r, o, k } = key.selectors;
  return {
    protocol: "plonk",
    curve: curve.snarkjsName,
    nPublic: key.publicCount,
    power: key.domainPower,
    k1: String(key.k1),
    k2: String(key.k2),
    Qm: point(m),
    Ql: point(l),
    Qr: point(r),
    Qo: point(o),
    Qc: point(k),
    S1: g1ToJson(key.s1),
    S2: g1ToJson(key.s2),
    S3: g1ToJson(key.s3),
    X_2: g2ToJson(key.tauG2),
    w: String(rootOfUnity(curve, key.domainPower)),
  };
}

/** Reads verification_key.json, given as parsed JSON. */
export function plonkVerifyingKeyFromJson(value: unknown, checks: PointChecks): Decoded<PlonkVerifyingKey> {
  const { curve } = checks;
  return decoding(() => {
    const record = readRecord(value, { required: [...MEMBERS, "X_2", "w"], optional: [] }, "the verifying key");
    if (record.protocol !== "plonk") throw new Malformed("the verifying key's protocol must be plonk");
    checkCurveName(record.curve, curve);
    const domainPower = readCount(record.power, "power", { least: DOMAIN_POWER_MIN, most: curve.twoAdicity - 2 });
    const publicCount = readCount(record.nPublic, "nPublic", {
      least: 0,
      most: Math.min(PUBLIC_SIGNALS_MAX, 2 ** domainPower),
    });
    const [k1, k2] = [readDecimal(record.k1, curve.r, "k1"), readDecimal(record.k2, curve.r, "k2")];
    // Others might make two columns of the permutation overlap.
    if (k1 !== COLUMN_FACTORS.k1 || k2 !== COLUMN_FACTORS.k2) throw new Malformed("k1 and k2 must be 2 and 3");
    if (readDecimal(record.w, curve.r, "w") !== rootOfUnity(curve, domainPower))
      throw new Malformed("w is not the root of unity of the domain");
    const selector = (name: keyof typeof SELECTOR_NAMES): G1Point | undefined => {
      const shown = SELECTOR_NAMES[name];
      return isInfinity(record[shown]) ? undefined : g1FromJson(record[shown], checks, shown);
    };
    return {
      curve: curve.name,
      publicCount,
      domainPower,
      k1,
      k2,
      selectors: { m: selector("m"), l: selector("l"), r: selector("r"), o: selector("o"), k: selector("k") },
      s1: g1FromJson(record.S1, checks, "S1"),
      s2: g1FromJson(record.S2, checks, "S2"),
      s3: g1FromJson(record.S3, checks, "S3"),
      tauG2: g2FromJson(record.X_2, checks, "X_2"),
    };
  });
}

function isInfinity(value: unknown): boolean {
  return Array.isArray(value) && value.length === 3 && value.every((each, i) => each === INFINITY_JSON[i]);
}

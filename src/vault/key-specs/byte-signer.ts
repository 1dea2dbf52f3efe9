/**
 * Signing for keys whose signature covers the bytes of a message as they are (Ed25519, P-256, RSA, BLS): reading the item, JWS, and
 * the check of every signature against faults before it leaves.
 */
import { invalidMember } from "../text.js";
import { selfCheckFailed, signJws, verifyJws } from "./jws.js";
import type { KeySpec, SignItem, UnwrappedKey, VerifyItem } from "./key-spec.js";
import { chosenAlgorithm, messageBytes, plainHex, refuseOptions, signatureOfHex } from "./messages.js";

export interface ByteScheme<A extends string> {
  readonly spec: string;
  /** Names as in JOSE where registered; the first is the default. */
  readonly algorithms: readonly [A, ...A[]];
  /** Those that a JWS may have; empty where none is registered. */
  readonly jwsAlgorithms: readonly A[];
  readonly signatureBytes: number;
  sign(key: UnwrappedKey, algorithm: A, message: Uint8Array): Uint8Array;
  /** False for a wrong signature; the public key was read before. */
  verify(publicKey: Uint8Array, algorithm: A, message: Uint8Array, signature: Uint8Array): boolean;
  /** Whether a signature that was just made is sound; by verifying it unless there is a cheaper way. */
  checkOwn?(key: UnwrappedKey, algorithm: A, message: Uint8Array, signature: Uint8Array): boolean;
}

/** The signing members of a spec. */
export function byteSigner<A extends string>(scheme: ByteScheme<A>): Required<Pick<KeySpec, "sign" | "verify" | "verifyDetached">> {
  const verifyDetached = (publicKey: Uint8Array, item: VerifyItem): boolean => {
    const { algorithm, isJws } = read(scheme, item);
    if (isJws) return verifyJws({ algorithm, verify: (input, signature) => scheme.verify(publicKey, algorithm, input, signature) }, item);
    // An empty message can be verified, because others sign them; signing one here is taken for a mistake.
    const message = messageBytes(item, { mayBeEmpty: true });
    const signature = signatureOfHex(item.signature, [scheme.signatureBytes]);
    return signature !== undefined && scheme.verify(publicKey, algorithm, message, signature);
  };
  return {
    sign: (key, item) => {
      const { algorithm, isJws } = read(scheme, item);
      const verify = (input: Uint8Array, signature: Uint8Array): boolean => scheme.checkOwn?.(key, algorithm, input, signature) ?? scheme.verify(key.publicKey, algorithm, input, signature);
      if (isJws) return signJws({ algorithm, sign: (input) => scheme.sign(key, algorithm, input), verify }, key.keyId, item);
      const message = messageBytes(item);
      const signature = scheme.sign(key, algorithm, message);
      if (!verify(message, signature)) throw selfCheckFailed();
      return { signature: plainHex(signature) };
    },
    verify: (key, item) => verifyDetached(key.publicKey, item),
    verifyDetached,
  };
}

function read<A extends string>(scheme: ByteScheme<A>, { options }: SignItem): { algorithm: A; isJws: boolean } {
  refuseOptions(options, scheme.spec, ["format", "encoding", "algorithm", "header"]);
  const format = options?.format ?? "raw";
  const algorithm = chosenAlgorithm(options, scheme.algorithms, scheme.spec);
  if (format === "jws") {
    if (scheme.jwsAlgorithms.includes(algorithm)) return { algorithm, isJws: true };
    throw invalidMember("options.format", `${scheme.spec} keys sign no JWS${scheme.jwsAlgorithms.length === 0 ? "" : ` with ${algorithm}`}`, "option_unsupported");
  }
  if (format !== "raw") throw invalidMember("options.format", `${scheme.spec} keys do not sign ${format}`, "option_unsupported");
  if (options?.header !== undefined) throw invalidMember("options.header", "only a JWS has a header", "option_unsupported");
  return { algorithm, isJws: false };
}

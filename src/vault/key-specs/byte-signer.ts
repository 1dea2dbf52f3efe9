/**
 * Signing for keys whose signature covers the bytes of a message as they are (Ed25519, P-256, RSA, BLS): reading the
 * item, JWS, and the check of every signature against faults before it leaves.
 */
import { assert, invalidMember } from "../../platform/errors.js";
import { runBatch, type Deferred } from "../threads/batch.js";
import { jwsAnswer, jwsInput, selfCheckFailed, verifyJws } from "./jws.js";
import type { DetachedVerification, KeySpec, SignAnswer, SignItem, UnwrappedKey, VerifyItem } from "./key-spec.js";
import { chosenAlgorithm, messageBytes, plainHex, refuseOptions, signatureOfHex } from "./messages.js";

interface SchemeBase<A extends string> {
  readonly spec: string;
  /** Names as in JOSE where registered; the first is the default. */
  readonly algorithms: readonly [A, ...A[]];
  /** Those that a JWS may use; empty where none is registered. */
  readonly jwsAlgorithms: readonly A[];
  readonly signatureBytes: number;
  /** Reads a caller's public key; undefined when it is none of this spec. */
  readPublicKey(text: string): Uint8Array | undefined;
  /** False for a wrong signature; the public key was read before. */
  verify(publicKey: Uint8Array, algorithm: A, message: Uint8Array, signature: Uint8Array): boolean;
}

/** Signatures that this file verifies before they are returned. */
interface PlainSigning<A extends string> {
  sign(key: UnwrappedKey, algorithm: A, message: Uint8Array): Uint8Array;
}

/** Signatures that the scheme checks while it makes them; undefined stands in the place of one that is not sound. */
interface CheckedSigning {
  signChecked(key: UnwrappedKey, messages: readonly Uint8Array[]): readonly (Uint8Array | undefined)[];
}

export type ByteScheme<A extends string> = SchemeBase<A> & (PlainSigning<A> | CheckedSigning);

/** The bytes that an item asks to sign, and how its answer is made from the signature. */
interface Reading<A> {
  readonly algorithm: A;
  readonly input: Uint8Array;
  readonly answer: (signature: Uint8Array) => SignAnswer;
}

/** Returns the signing and verifying members of a spec. */
export function byteSigner<A extends string>(
  scheme: ByteScheme<A>,
): Required<Pick<KeySpec, "sign" | "verify">> &
  Pick<KeySpec, "signMany"> & { readonly detached: DetachedVerification } {
  const verifyDetached = (publicKey: Uint8Array, item: VerifyItem): boolean => {
    const { algorithm, isJws } = read(scheme, item);
    if (isJws)
      return verifyJws(
        { algorithm, verify: (input, signature) => scheme.verify(publicKey, algorithm, input, signature) },
        item,
      );
    const message = messageBytes(item);
    const signature = signatureOfHex(item.signature, [scheme.signatureBytes]);
    return signature !== undefined && scheme.verify(publicKey, algorithm, message, signature);
  };
  return {
    sign: (key, item) => {
      const [answer] = answersOf(scheme, key, [readingOf(scheme, key, item)]);
      assert(answer !== undefined, "one item has one answer");
      return answer();
    },
    ...("signChecked" in scheme && {
      signMany: (key, items) =>
        runBatch(
          items,
          (item) => readingOf(scheme, key, item),
          (readings) => answersOf(scheme, key, readings),
        ),
    }),
    verify: (key, item) => verifyDetached(key.publicKey, item),
    detached: { readPublicKey: (text) => scheme.readPublicKey(text), verify: verifyDetached },
  };
}

function answersOf<A extends string>(
  scheme: ByteScheme<A>,
  key: UnwrappedKey,
  readings: readonly Reading<A>[],
): Deferred<SignAnswer>[] {
  const signatures = soundSignatures(scheme, key, readings);
  return readings.map(({ answer }, index) => () => {
    const signature = signatures[index];
    if (signature === undefined) throw selfCheckFailed();
    return answer(signature);
  });
}

function soundSignatures<A extends string>(
  scheme: ByteScheme<A>,
  key: UnwrappedKey,
  readings: readonly Reading<A>[],
): readonly (Uint8Array | undefined)[] {
  if ("signChecked" in scheme)
    return scheme.signChecked(
      key,
      readings.map(({ input }) => input),
    );
  return readings.map(({ algorithm, input }) => {
    const signature = scheme.sign(key, algorithm, input);
    return scheme.verify(key.publicKey, algorithm, input, signature) ? signature : undefined;
  });
}

function readingOf<A extends string>(scheme: ByteScheme<A>, key: UnwrappedKey, item: SignItem): Reading<A> {
  const { algorithm, isJws } = read(scheme, item);
  if (!isJws)
    return { algorithm, input: messageBytes(item), answer: (signature) => ({ signature: plainHex(signature) }) };
  const input = jwsInput(algorithm, key.keyId, item);
  return { algorithm, input: Buffer.from(input, "latin1"), answer: (signature) => jwsAnswer(input, signature) };
}

function read<A extends string>(scheme: ByteScheme<A>, { options }: SignItem): { algorithm: A; isJws: boolean } {
  refuseOptions(options, scheme.spec, ["format", "encoding", "algorithm", "header"]);
  const format = options?.format ?? "raw";
  const algorithm = chosenAlgorithm(options, scheme.algorithms, scheme.spec);
  if (format === "jws") {
    if (scheme.jwsAlgorithms.includes(algorithm)) return { algorithm, isJws: true };
    throw invalidMember(
      "options.format",
      `${scheme.spec} keys sign no JWS${scheme.jwsAlgorithms.length === 0 ? "" : ` with ${algorithm}`}`,
      "option_unsupported",
    );
  }
  if (format !== "raw")
    throw invalidMember("options.format", `${scheme.spec} keys do not sign ${format}`, "option_unsupported");
  if (options?.header !== undefined)
    throw invalidMember("options.header", "only a JWS has a header", "option_unsupported");
  return { algorithm, isJws: false };
}

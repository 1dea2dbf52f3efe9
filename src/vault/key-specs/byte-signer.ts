/**
 * Signing for keys whose signature covers the bytes of a message as they are (Ed25519, P-256, RSA, BLS): reading the
 * item, JWS, and the check of every signature against faults before it leaves.
 */
import { invalidMember } from "../keys/validation.js";
import { workTogether, type Answer } from "../threads/batch.js";
import { jwsAnswer, jwsInput, selfCheckFailed, verifyJws } from "./jws.js";
import type { KeySpec, SignAnswer, SignItem, UnwrappedKey, VerifyItem } from "./key-spec.js";
import { chosenAlgorithm, messageBytes, plainHex, refuseOptions, signatureOfHex } from "./messages.js";

interface SchemeBase<A extends string> {
  readonly spec: string;
  /** Names as in JOSE where registered; the first is the default. */
  readonly algorithms: readonly [A, ...A[]];
  /** Those that a JWS may have; empty where none is registered. */
  readonly jwsAlgorithms: readonly A[];
  readonly signatureBytes: number;
  /** False for a wrong signature; the public key was read before. */
  verify(publicKey: Uint8Array, algorithm: A, message: Uint8Array, signature: Uint8Array): boolean;
}

/** Signatures that are verified here before they leave. */
interface PlainSigning<A extends string> {
  sign(key: UnwrappedKey, algorithm: A, message: Uint8Array): Uint8Array;
}

/**
 * Signatures that are checked as they are made, many for less than one by one; undefined in the place of one that is
 * not sound.
 */
interface CheckedSigning {
  signChecked(key: UnwrappedKey, messages: readonly Uint8Array[]): readonly (Uint8Array | undefined)[];
}

export type ByteScheme<A extends string> = SchemeBase<A> & (PlainSigning<A> | CheckedSigning);

/** What is asked to be signed, and the answer to make of the signature. */
interface Reading<A> {
  readonly algorithm: A;
  readonly input: Uint8Array;
  readonly answer: (signature: Uint8Array) => SignAnswer;
}

/** The signing members of a spec. */
export function byteSigner<A extends string>(
  scheme: ByteScheme<A>,
): Required<Pick<KeySpec, "sign" | "verify" | "verifyDetached">> & Pick<KeySpec, "signMany"> {
  const verifyDetached = (publicKey: Uint8Array, item: VerifyItem): boolean => {
    const { algorithm, isJws } = read(scheme, item);
    if (isJws)
      return verifyJws(
        { algorithm, verify: (input, signature) => scheme.verify(publicKey, algorithm, input, signature) },
        item,
      );
    // An empty message can be verified, because others sign them; signing one here is taken for a mistake.
    const message = messageBytes(item, { mayBeEmpty: true });
    const signature = signatureOfHex(item.signature, [scheme.signatureBytes]);
    return signature !== undefined && scheme.verify(publicKey, algorithm, message, signature);
  };
  return {
    sign: (key, item) => {
      const [answer] = answersOf(scheme, key, [readingOf(scheme, key, item)]);
      if (answer === undefined) throw new Error("invariant broken: one item has one answer");
      return answer();
    },
    ...("signChecked" in scheme && {
      signMany: (key, items) =>
        workTogether(
          items,
          (item) => readingOf(scheme, key, item),
          (readings) => answersOf(scheme, key, readings),
        ),
    }),
    verify: (key, item) => verifyDetached(key.publicKey, item),
    verifyDetached,
  };
}

function answersOf<A extends string>(
  scheme: ByteScheme<A>,
  key: UnwrappedKey,
  readings: readonly Reading<A>[],
): Answer<SignAnswer>[] {
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

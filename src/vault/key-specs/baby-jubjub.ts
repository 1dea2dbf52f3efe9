/**
 * babyJubJub keys: EdDSA with Poseidon as circomlib checks it inside a circuit. Signs one element of BN254's scalar
 * field; the answer also holds the inputs of the circuit `eddsa_signature`.
 */
import { assert, invalidMember } from "../../platform/errors.js";
import {
  BABY_JUBJUB_SIGNATURE_BYTES,
  babyJubJubPublicKey,
  generateBabyJubJub,
  packPoint,
  packSignature,
  signPoseidon,
  unpackPoint,
  unpackSignature,
  verifyPoseidon,
  type BabyJubJubPoint,
  type EddsaPoseidonSignature,
} from "../../crypto/signatures/baby-jubjub.js";
import { FIELD_ORDER } from "../../crypto/hashes/poseidon.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { selfCheckFailed } from "./jws.js";
import type { KeySpec, SignAnswer, SignItem, VerifyItem } from "./key-spec.js";
import { emptyMessage, messageBytes, plainHex, publicKeyOfHex, refuseOptions, signatureOfHex } from "./messages.js";

export const BABY_JUBJUB = "babyJubJub";
const ELEMENT_BYTES = 32;

export const babyJubJub: KeySpec = {
  name: BABY_JUBJUB,
  type: "asymmetric",
  usage: "sign/verify",
  materialKind: "raw32",
  operationUs: 8_000,
  generate: () => {
    const privateKey = generateBabyJubJub();
    return { material: SecretBytes.take(privateKey), publicKey: packPoint(babyJubJubPublicKey(privateKey)) };
  },
  sign: (key, item) => {
    const message = fieldElement(item);
    const publicKey = pointOf(key.publicKey);
    const signature = key.material.use((privateKey) => signPoseidon(privateKey, message));
    if (!verifyPoseidon(publicKey, message, signature)) throw selfCheckFailed();
    return { signature: plainHex(packSignature(signature)), inputs: circuitInputs(publicKey, message, signature) };
  },
  verify: (key, item) => verify(key.publicKey, item),
  detached: {
    verify,
    readPublicKey: (text) => {
      const bytes = publicKeyOfHex(text);
      const point = bytes === undefined ? undefined : unpackPoint(bytes);
      return bytes !== undefined && point?.is0() === false ? bytes : undefined;
    },
  },
};

function verify(publicKey: Uint8Array, item: VerifyItem): boolean {
  const message = fieldElement(item);
  const bytes = signatureOfHex(item.signature, [BABY_JUBJUB_SIGNATURE_BYTES]);
  const signature = bytes === undefined ? undefined : unpackSignature(bytes);
  return signature !== undefined && verifyPoseidon(pointOf(publicKey), message, signature);
}

/**
 * Reads the message as a big-endian number. Throws `message_out_of_field` instead of reducing it: otherwise two
 * messages would share a signature.
 */
function fieldElement(item: SignItem): bigint {
  refuseOptions(item.options, BABY_JUBJUB, ["format", "encoding"]);
  if ((item.options?.format ?? "raw") !== "raw")
    throw invalidMember("options.format", `${BABY_JUBJUB} keys sign raw field elements only`, "option_unsupported");
  const bytes = messageBytes(item);
  if (bytes.length === 0) throw emptyMessage("an element of BN254's scalar field");
  const element = bytes.length > ELEMENT_BYTES ? FIELD_ORDER : BigInt(`0x${plainHex(bytes)}`);
  if (element >= FIELD_ORDER)
    throw invalidMember(
      "message",
      "`message` is not an element of BN254's scalar field: at most 32 bytes, big-endian, below the field's order",
      "message_out_of_field",
    );
  return element;
}

function pointOf(packed: Uint8Array): BabyJubJubPoint {
  const point = unpackPoint(packed);
  assert(point !== undefined, "a public key was read before");
  return point;
}

function circuitInputs(
  publicKey: BabyJubJubPoint,
  message: bigint,
  { r8, s }: EddsaPoseidonSignature,
): NonNullable<SignAnswer["inputs"]> {
  const pair = (point: BabyJubJubPoint): string[] => {
    const { x, y } = point.toAffine();
    return [String(x), String(y)];
  };
  return { PublicKey: pair(publicKey), Message: String(message), R8: pair(r8), S: String(s) };
}

/**
 * Values that leave the vault for a proving thread: sealed to a key that this thread made for one proof, so that they
 * pass through the main thread without being in its memory.
 */
import { sealBox } from "../../crypto/ciphers/sealed-box.js";
import { AppError } from "../../platform/errors.js";
import { requireAbility } from "../key-specs/abilities.js";
import type { VaultTasks } from "../protocol.js";
import type { WorkerKeys } from "./worker-keys.js";

/**
 * Returns the bytes as a box of the recipient, and wipes them.
 * @param purpose kind of the value: the recipient opens the box as nothing else
 */
export function handOver(to: Uint8Array, purpose: string, value: Uint8Array): Uint8Array {
  try {
    return sealBox(to, purpose, value);
  } finally {
    value.fill(0);
  }
}

/**
 * Signs for a circuit, and hands over its inputs as JSON: `PublicKey`, `Message`, `R8` and `S`.
 * @throws spec_cannot_sign, `key_disabled`, `message_out_of_field`
 */
export function handSignature(
  keys: WorkerKeys,
  { vault, key, message, to }: VaultTasks["hand_signature"]["message"],
): Uint8Array {
  return keys.lend(vault, key, (spec, unwrapped) => {
    const { inputs } = requireAbility(spec, "sign").sign(unwrapped, { message });
    if (inputs === undefined)
      throw new AppError("spec_cannot_sign", { message: "keys of this spec make no signatures for circuits" });
    return handOver(to, "signature", Buffer.from(JSON.stringify(inputs)));
  });
}

/**
 * Finds the content key of a JSON Web Encryption and hands it over.
 * @throws key_disabled, and `decryption_failed` for whatever keeps it from being found
 */
export function handContentKey(
  keys: WorkerKeys,
  { vault, key, header, to }: VaultTasks["hand_content_key"]["message"],
): Uint8Array {
  return keys.lend(vault, key, (spec, unwrapped) => {
    const contentKey = spec.contentKey?.(unwrapped, header);
    if (contentKey === undefined)
      throw new AppError("decryption_failed", {
        message: "the token was not encrypted to this key, or was changed since",
      });
    return handOver(to, "content_key", contentKey);
  });
}

/** The table of key specs. Adding one takes a file beside this one and a line here. */
import { invalidMember } from "../../platform/errors.js";
import { aes256Gcm } from "./aes-256-gcm.js";
import { babyJubJub } from "./baby-jubjub.js";
import { bip39 } from "./bip39.js";
import { bls12381 } from "./bls12-381.js";
import { c25519 } from "./c25519.js";
import { chaCha20 } from "./chacha20.js";
import { ed25519, ed25519Nkey } from "./ed25519.js";
import type { KeySpec } from "./key-spec.js";
import { p256 } from "./p256.js";
import { p256Ecdh } from "./p256-ecdh.js";
import { rsa2048, rsa3072, rsa4096 } from "./rsa.js";
import { secp256k1 } from "./secp256k1.js";

const KEY_SPECS: readonly KeySpec[] = [
  aes256Gcm,
  chaCha20,
  babyJubJub,
  c25519,
  ed25519,
  ed25519Nkey,
  rsa2048,
  rsa3072,
  rsa4096,
  secp256k1,
  p256,
  p256Ecdh,
  bls12381,
  bip39,
];

const BY_NAME: ReadonlyMap<string, KeySpec> = new Map(KEY_SPECS.map((spec) => [spec.name.toLowerCase(), spec]));

/** Returns the spec with a name in any letter case, or undefined. */
export function findKeySpec(name: string): KeySpec | undefined {
  return BY_NAME.get(name.toLowerCase());
}

/** Returns the spec with a name in any letter case. Throws `key_spec_unknown`, with the supported names. */
export function keySpecNamed(name: string): KeySpec {
  const spec = findKeySpec(name);
  if (spec === undefined) {
    throw invalidMember(
      "spec",
      `invalid key spec; supported are ${KEY_SPECS.map((known) => known.name).join(", ")}`,
      "key_spec_unknown",
    );
  }
  return spec;
}

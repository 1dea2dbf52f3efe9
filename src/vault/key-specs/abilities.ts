/** What a key of a spec can do, and the one refusal of what it cannot. */
import { AppError, type ErrorCode } from "../../platform/errors.js";
import type { KeySpec } from "./key-spec.js";

export type Ability = "sign" | "verify" | "encrypt" | "decrypt" | "derive" | "agree" | "provePossession";

/** A spec whose keys have an ability. */
export type SpecWith<A extends Ability> = KeySpec & Required<Pick<KeySpec, A>>;

const REFUSALS: Readonly<Record<Ability, { readonly code: ErrorCode; readonly noun: string }>> = {
  sign: { code: "spec_cannot_sign", noun: "signing" },
  verify: { code: "spec_cannot_verify", noun: "verification" },
  encrypt: { code: "spec_cannot_encrypt", noun: "encryption" },
  decrypt: { code: "spec_cannot_decrypt", noun: "decryption" },
  derive: { code: "spec_cannot_derive", noun: "derivation" },
  agree: { code: "spec_cannot_agree", noun: "key agreement" },
  provePossession: { code: "spec_cannot_prove_possession", noun: "proofs of possession" },
};

/**
 * Returns the spec as one that has the ability.
 * @throws the ability's code, such as `spec_cannot_sign`, when keys of the spec lack it
 */
export function requireAbility<A extends Ability>(spec: KeySpec, ability: A): SpecWith<A> {
  if (hasAbility(spec, ability)) return spec;
  const { code, noun } = REFUSALS[ability];
  throw new AppError(code, { message: `key does not support ${noun}` });
}

function hasAbility<A extends Ability>(spec: KeySpec, ability: A): spec is SpecWith<A> {
  return spec[ability] !== undefined;
}

/** The result of a decoder: a value or one sentence. Decoders never throw on what comes from outside. */
export type Decoded<Value> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly message: string };

/** Thrown inside a decoder only, and turned into its result by `decoding`. */
export class Malformed extends Error {
  override readonly name = "Malformed";
}

/**
 * Runs a decoder: what it returns is the value, a `Malformed` is the message, anything else is a bug and passes
 * through.
 */
export function decoding<Value>(decode: () => Value): Decoded<Value> {
  try {
    return { ok: true, value: decode() };
  } catch (error) {
    if (error instanceof Malformed) return { ok: false, message: error.message };
    throw error;
  }
}

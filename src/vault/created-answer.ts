/** The answer of routes that make a vault, key or secret: what is sent, and what an Idempotency-Key keeps. */

/** Returns the answer to what was made. */
export function createdAnswer<Made>(made: Made): { readonly status: 201; readonly body: Made } {
  return { status: 201, body: made };
}

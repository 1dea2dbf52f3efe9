/**
 * A reply's body that is JSON text already. Long answers are written by the thread that makes them: carrying their
 * values to the main thread and writing them there would cost it more than everything else that it does for the
 * request.
 */

/** JSON of a T. */
export class JsonText<T> {
  /** For the compiler only: what the text is of. */
  declare protected readonly value: T;
  /** As bytes: UTF-8. */
  readonly text: string | Uint8Array;

  constructor(text: string | Uint8Array) {
    this.text = text;
  }
}

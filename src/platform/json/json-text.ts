/**
 * A reply's body that is JSON text already. A worker thread writes the JSON of long answers itself: copying their
 * values to the main thread and calling `JSON.stringify` there would cost that thread more than the rest of the
 * request. The rows `batch-*` of `npm run bench -- vault` measure this path.
 */

/** JSON of a value of type T. */
export class JsonText<T> {
  /** Exists only for the compiler, which checks T against the route's schema. */
  declare protected readonly value: T;
  /** Bytes are UTF-8. */
  readonly text: string | Uint8Array;

  constructor(text: string | Uint8Array) {
    this.text = text;
  }
}

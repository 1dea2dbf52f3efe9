/** Errors of structures to be signed: they name the member at fault, never its content. */

export class InvalidPayload extends Error {
  override readonly name = "InvalidPayload";
  /** Dotted name of the member at fault. */
  readonly path: string;

  constructor(path: string, message: string) {
    super(`\`${path}\` ${message}`);
    this.path = path;
  }
}

/**
 * Returns the value as an object of named members.
 * @param path dotted name of the value
 * @throws InvalidPayload for any other value
 */
export function recordOf(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new InvalidPayload(path, "is not an object");
  return value as Readonly<Record<string, unknown>>;
}

/**
 * Returns the value as an array.
 * @param path dotted name of the value
 * @throws InvalidPayload for any other value, and for more items
 */
export function arrayOf(value: unknown, path: string, itemsMax: number): readonly unknown[] {
  if (!Array.isArray(value)) throw new InvalidPayload(path, "is not an array");
  if (value.length > itemsMax) throw new InvalidPayload(path, `has more than ${String(itemsMax)} items`);
  return value as readonly unknown[];
}

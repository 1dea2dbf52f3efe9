/** What is wrong with a structure that somebody wants signed: says which member, never its content. */

export class InvalidPayload extends Error {
  override readonly name = "InvalidPayload";
  /** Dotted name of the member at fault. */
  readonly path: string;

  constructor(path: string, message: string) {
    super(`\`${path}\` ${message}`);
    this.path = path;
  }
}

/** An object of named members; throws InvalidPayload for anything else. */
export function recordOf(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new InvalidPayload(path, "is not an object");
  return value as Readonly<Record<string, unknown>>;
}

/** An array of at most so many items; throws InvalidPayload for anything else. */
export function arrayOf(value: unknown, path: string, itemsMax: number): readonly unknown[] {
  if (!Array.isArray(value)) throw new InvalidPayload(path, "is not an array");
  if (value.length > itemsMax) throw new InvalidPayload(path, `has more than ${String(itemsMax)} items`);
  return value as readonly unknown[];
}

/**
 * The form of a task's request and answer between processes: a head with everything small, and the large byte arrays
 * beside it. Serialising those into the head would copy them on the server's event loop (0.1 s for a proving key).
 */
import { DefaultDeserializer, DefaultSerializer } from "node:v8";

interface ProcessMessage {
  /** Structured-clone form of node:v8, with a number in place of each part. */
  readonly head: Uint8Array;
  /** The large byte arrays, not copied. */
  readonly parts: readonly Uint8Array[];
}

/** Arrays of at least this size are parts; for smaller ones a file costs more than the copy. */
export const PART_BYTES_MIN = 64 * 1024;
/** Parts of one message; requests have one or two. Further arrays go into the head. */
export const PARTS_MAX = 64;

const IN_HEAD = 0;
const IN_PARTS = 1;

/** What node:v8 calls for byte arrays; its types leave the two methods out. */
interface HostObjectMethods {
  _writeHostObject(view: NodeJS.ArrayBufferView): void;
  _readHostObject(): unknown;
}

class PartSerializer extends DefaultSerializer {
  readonly parts: Uint8Array[] = [];

  _writeHostObject(view: NodeJS.ArrayBufferView): void {
    if (view instanceof Uint8Array && view.byteLength >= PART_BYTES_MIN && this.parts.length < PARTS_MAX) {
      this.writeUint32(IN_PARTS);
      this.writeUint32(this.parts.length);
      this.parts.push(view);
      return;
    }
    this.writeUint32(IN_HEAD);
    (DefaultSerializer.prototype as unknown as HostObjectMethods)._writeHostObject.call(this, view);
  }
}

class PartDeserializer extends DefaultDeserializer {
  readonly #parts: readonly Uint8Array[];

  constructor(message: ProcessMessage) {
    super(message.head);
    this.#parts = message.parts;
  }

  _readHostObject(): unknown {
    if (this.readUint32() === IN_HEAD)
      return (DefaultDeserializer.prototype as unknown as HostObjectMethods)._readHostObject.call(this);
    const part = this.#parts[this.readUint32()];
    if (part === undefined) throw new RangeError("message names a part that it does not have");
    return part;
  }
}

/** Splits a value into head and parts. A large Buffer comes back as a Uint8Array, all else as in structured cloning. */
export function encodeMessage(value: unknown): ProcessMessage {
  const serializer = new PartSerializer();
  serializer.writeHeader();
  serializer.writeValue(value);
  return { head: serializer.releaseBuffer(), parts: serializer.parts };
}

/**
 * Joins head and parts into the value; its large arrays are the parts themselves.
 * @throws Error when `encodeMessage` did not write the head, or a part is missing
 */
export function decodeMessage(message: ProcessMessage): unknown {
  const deserializer = new PartDeserializer(message);
  deserializer.readHeader();
  return deserializer.readValue() as unknown;
}

/** Returns the file name of a part, beside the head's file. */
export function partFile(headFile: string, index: number): string {
  return `${headFile}.${index}`;
}

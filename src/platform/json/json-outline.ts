/**
 * The outline of a JSON text that is too long to be kept: read as it comes, with memory for the outline alone. It has
 * the members of the outermost object and of the objects in it; of their values the short scalars stay, a list becomes
 * the number of its items, and everything else is left out. Strictness is for whoever parses the outline: this reader
 * only follows strings and brackets.
 */
interface Level {
  /** As it stands in the text, with its quotes; empty for the outermost object. */
  readonly key: string;
  readonly members: string[];
}

/** Of the outermost object and of those in it. */
const LEVELS = 2;
const SCALAR_BYTES_MAX = 512;
/** Of one object. */
const MEMBERS_MAX = 64;

const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export class JsonOutline {
  /** The objects that are open and kept. */
  readonly #levels: Level[] = [];
  /** Brackets that are open. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  readonly #scalar = Buffer.alloc(SCALAR_BYTES_MAX);
  /** Beyond the buffer's length for a scalar that is too long to be kept. */
  #scalarBytes = 0;
  #key: string | undefined;
  /** The list that is counted: its key, and how many of its items have ended. */
  #list: { readonly key: string; items: number; hasMore: boolean } | undefined;
  #outline = "";

  /** Reads the next bytes of the text. */
  push(chunk: Uint8Array): void {
    for (const byte of chunk) {
      if (this.#isInString) this.#readInString(byte);
      else this.#read(byte);
    }
  }

  /** Returns the outline as JSON text; empty when the text was no object, or was cut off. */
  end(): Uint8Array {
    return Buffer.from(this.#outline);
  }

  #readInString(byte: number): void {
    this.#keep(byte);
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInString = false;
  }

  #read(byte: number): void {
    switch (byte) {
      case TAB:
      case LINE_FEED:
      case RETURN:
      case SPACE:
        return;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        this.#noteItem();
        this.#open(byte === OPEN_OBJECT);
        return;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        this.#close();
        return;
      case COLON:
        if (this.#isKept()) this.#key = this.#takeScalar();
        return;
      case COMMA:
        this.#endItem();
        return;
      default:
        this.#noteItem();
        this.#isInString = byte === QUOTE;
        this.#keep(byte);
    }
  }

  /** True for what stands directly in an object that is kept. */
  #isKept(): boolean {
    return this.#depth > 0 && this.#depth === this.#levels.length;
  }

  #isInList(): boolean {
    return this.#list !== undefined && this.#depth === this.#levels.length + 1;
  }

  #keep(byte: number): void {
    if (!this.#isKept()) return;
    if (this.#scalarBytes < SCALAR_BYTES_MAX) this.#scalar[this.#scalarBytes] = byte;
    this.#scalarBytes += 1;
  }

  #takeScalar(): string | undefined {
    const length = this.#scalarBytes;
    this.#scalarBytes = 0;
    return length === 0 || length > SCALAR_BYTES_MAX ? undefined : this.#scalar.toString("utf8", 0, length);
  }

  #noteItem(): void {
    if (this.#isInList() && this.#list !== undefined) this.#list.hasMore = true;
  }

  #endItem(): void {
    if (this.#isKept()) this.#endMember();
    else if (this.#isInList() && this.#list !== undefined) {
      this.#list.items += 1;
      this.#list.hasMore = false;
    }
  }

  #endMember(): void {
    const value = this.#takeScalar();
    if (value !== undefined) this.#add(this.#key, value);
    this.#key = undefined;
  }

  #add(key: string | undefined, value: string): void {
    const members = this.#levels.at(-1)?.members;
    if (key !== undefined && members !== undefined && members.length < MEMBERS_MAX) members.push(`${key}:${value}`);
  }

  #open(isObject: boolean): void {
    const isFirst = this.#depth === 0 && this.#outline === "";
    const key = this.#isKept() ? this.#key : undefined;
    this.#depth += 1;
    if (isObject && (isFirst || key !== undefined) && this.#levels.length < LEVELS)
      this.#levels.push({ key: key ?? "", members: [] });
    else if (!isObject && key !== undefined) this.#list = { key, items: 0, hasMore: false };
    this.#key = undefined;
  }

  #close(): void {
    if (this.#isKept()) {
      this.#endMember();
      const { key, members } = this.#levels.pop() ?? { key: "", members: [] };
      const text = `{${members.join(",")}}`;
      if (this.#levels.length === 0) this.#outline = text;
      else this.#add(key, text);
    } else if (this.#isInList() && this.#list !== undefined) {
      const { key, items, hasMore } = this.#list;
      this.#list = undefined;
      this.#add(key, String(items + (hasMore ? 1 : 0)));
    }
    this.#depth = Math.max(0, this.#depth - 1);
  }
}

/**
 * Checks JSON bytes strictly before `JSON.parse` reads them: RFC 8259 grammar with limits on depth, tokens, names and
 * numbers, valid UTF-8, no duplicate names, no lone surrogates, no names that reach a prototype unless they are the
 * caller's own, no number that would be rounded to a whole number. Never stores or repeats what it read.
 */
import { isUtf8 } from "node:buffer";

export interface JsonLimits {
  readonly depthMax: number;
  /** Values and names together. */
  readonly tokensMax: number;
  readonly keyBytesMax: number;
  readonly numberBytesMax: number;
  /**
   * True when names below the top level are the caller's own, such as those of signals: names that reach a prototype
   * are then allowed there, and whoever reads them copies them only as own properties.
   */
  readonly userNames?: boolean;
}

/**
 * Returns a sentence on the first fault and its byte offset; undefined when there is none. Takes about 5 ns a byte, a
 * tenth of that inside long texts.
 */
export function findJsonFault(bytes: Buffer, limits: JsonLimits): string | undefined {
  if (!isUtf8(bytes)) return "the body is not valid UTF-8";
  try {
    new Scan(bytes, limits).document();
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return `${error.reason} at byte ${String(error.at)}`;
    throw error;
  }
}

/** Parses bytes in which `findJsonFault` found no fault. */
export function parseJson(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString("utf8"));
}

/** Names that reach a prototype. */
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
/** A native search costs as much as reading this many bytes one by one. */
const LONG_TEXT_BYTES = 32;
const UPPER_E = 0x45;
const LOWER_E = 0x65;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const ESCAPED: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));
const LITERALS: ReadonlyMap<number, Buffer> = new Map([
  [0x74, Buffer.from("true")],
  [0x66, Buffer.from("false")],
  [0x6e, Buffer.from("null")],
]);

class Fault extends Error {
  readonly reason: string;
  readonly at: number;

  constructor(reason: string, at: number) {
    super(reason);
    this.reason = reason;
    this.at = at;
  }
}

class Scan {
  readonly #bytes: Buffer;
  readonly #limits: JsonLimits;
  /** One entry per open container: the names of an object so far, or undefined for an array. */
  readonly #open: (Set<string> | undefined)[] = [];
  #at = 0;
  #tokens = 0;
  /** Offset of the next quote and backslash at or after `#at`, once searched for; no byte is searched twice. */
  #quoteAt = -1;
  #backslashAt = -1;

  constructor(bytes: Buffer, limits: JsonLimits) {
    this.#bytes = bytes;
    this.#limits = limits;
  }

  /** Scans the whole text. Not recursive, so that the depth costs no stack. */
  document(): void {
    do {
      this.#value();
    } while (this.#afterValue());
    if (this.#at !== this.#bytes.length) throw this.#fault("text after the end of the JSON value");
  }

  /** Reads a scalar, or opens containers until it reaches a scalar or an empty container. */
  #value(): void {
    for (;;) {
      this.#space();
      this.#countToken();
      const byte = this.#bytes[this.#at];
      if (byte === OPEN_OBJECT) {
        this.#enter(new Set());
        if (this.#leaveIf(CLOSE_OBJECT)) return;
        this.#name();
      } else if (byte === OPEN_ARRAY) {
        this.#enter(undefined);
        if (this.#leaveIf(CLOSE_ARRAY)) return;
      } else {
        this.#scalar(byte);
        return;
      }
    }
  }

  /** Closes the containers that end here. Returns true when another value follows. */
  #afterValue(): boolean {
    while (this.#open.length > 0) {
      this.#space();
      const names = this.#open[this.#open.length - 1];
      if (this.#bytes[this.#at] === COMMA) {
        this.#at += 1;
        if (names !== undefined) this.#name();
        return true;
      }
      if (!this.#leaveIf(names === undefined ? CLOSE_ARRAY : CLOSE_OBJECT))
        throw this.#fault(this.#expected("a comma or the end of the list or object"));
    }
    this.#space();
    return false;
  }

  #enter(names: Set<string> | undefined): void {
    if (this.#open.length >= this.#limits.depthMax)
      throw this.#fault(`nested deeper than ${String(this.#limits.depthMax)}`);
    this.#open.push(names);
    this.#at += 1;
  }

  #leaveIf(close: number): boolean {
    this.#space();
    if (this.#bytes[this.#at] !== close) return false;
    this.#at += 1;
    this.#open.pop();
    return true;
  }

  #name(): void {
    this.#space();
    this.#countToken();
    if (this.#bytes[this.#at] !== QUOTE) throw this.#fault(this.#expected("a member name in double quotes"));
    const start = this.#at;
    const escaped = this.#string();
    if (this.#at - start - 2 > this.#limits.keyBytesMax)
      throw this.#fault(`a member name is longer than ${String(this.#limits.keyBytesMax)} bytes`);
    const name = escaped
      ? (JSON.parse(this.#bytes.toString("utf8", start, this.#at)) as string)
      : this.#bytes.toString("utf8", start + 1, this.#at - 1);
    if (FORBIDDEN_KEYS.has(name) && !this.#isUserName()) throw this.#fault("a member name that is not allowed");
    const names = this.#open[this.#open.length - 1];
    if (names?.has(name) === true) throw this.#fault("a member is given twice");
    names?.add(name);
    this.#space();
    if (this.#bytes[this.#at] !== COLON) throw this.#fault(this.#expected("a colon"));
    this.#at += 1;
  }

  #isUserName(): boolean {
    return this.#limits.userNames === true && this.#open.length > 1;
  }

  #scalar(byte: number | undefined): void {
    if (byte === QUOTE) {
      this.#string();
      return;
    }
    if (byte === MINUS || isDigit(byte)) {
      this.#number();
      return;
    }
    const literal = byte === undefined ? undefined : LITERALS.get(byte);
    if (
      literal === undefined ||
      this.#bytes.compare(
        literal,
        0,
        literal.length,
        this.#at,
        Math.min(this.#at + literal.length, this.#bytes.length),
      ) !== 0
    ) {
      throw this.#fault(this.#expected("a JSON value"));
    }
    this.#at += literal.length;
  }

  /** Moves from the opening quote to behind the closing one. Returns true when there was an escape. */
  #string(): boolean {
    const bytes = this.#bytes;
    let escaped = false;
    this.#at += 1;
    let leapAt = this.#at + LONG_TEXT_BYTES;
    for (;;) {
      if (this.#at === leapAt) this.#leap();
      const byte = bytes[this.#at];
      if (byte === undefined) throw this.#fault("a text that does not end");
      if (byte === QUOTE) {
        this.#at += 1;
        return escaped;
      }
      if (byte < 0x20) throw this.#fault("a control character inside a text");
      if (byte === BACKSLASH) {
        escaped = true;
        this.#escape();
        leapAt = this.#at + LONG_TEXT_BYTES;
      } else {
        this.#at += 1;
      }
    }
  }

  /** Moves over the plain part of a long text: to the next quote, backslash or control character. */
  #leap(): void {
    if (this.#quoteAt < this.#at) this.#quoteAt = indexOrEnd(this.#bytes, QUOTE, this.#at);
    if (this.#backslashAt < this.#at) this.#backslashAt = indexOrEnd(this.#bytes, BACKSLASH, this.#at);
    this.#at = controlOrEnd(this.#bytes, this.#at, Math.min(this.#quoteAt, this.#backslashAt));
  }

  #escape(): void {
    const kind = this.#bytes[this.#at + 1];
    if (kind !== undefined && ESCAPED.has(kind)) {
      this.#at += 2;
      return;
    }
    const unit = this.#unicodeEscape();
    if (unit >= 0xdc00 && unit <= 0xdfff) throw this.#fault("half of a surrogate pair");
    if (unit < 0xd800 || unit > 0xdbff) return;
    if (this.#bytes[this.#at] !== BACKSLASH) throw this.#fault("half of a surrogate pair");
    const low = this.#unicodeEscape();
    if (low < 0xdc00 || low > 0xdfff) throw this.#fault("half of a surrogate pair");
  }

  /** Reads `\uXXXX` at the current byte and returns its code unit. */
  #unicodeEscape(): number {
    const hex = this.#bytes.toString("latin1", this.#at + 1, this.#at + 6);
    if (!/^u[0-9a-fA-F]{4}$/.test(hex)) throw this.#fault("an escape that JSON does not have");
    this.#at += 6;
    return Number.parseInt(hex.slice(1), 16);
  }

  #number(): void {
    const start = this.#at;
    if (this.#bytes[this.#at] === MINUS) this.#at += 1;
    if (this.#bytes[this.#at] === ZERO) this.#at += 1;
    else this.#digits();
    let isPlain = true;
    if (this.#bytes[this.#at] === DOT) {
      isPlain = false;
      this.#at += 1;
      this.#digits();
    }
    if (this.#bytes[this.#at] === LOWER_E || this.#bytes[this.#at] === UPPER_E) {
      isPlain = false;
      this.#at += 1;
      if (this.#bytes[this.#at] === PLUS || this.#bytes[this.#at] === MINUS) this.#at += 1;
      this.#digits();
    }
    if (this.#at - start > this.#limits.numberBytesMax)
      throw this.#fault(`a number is longer than ${String(this.#limits.numberBytesMax)} characters`);
    // 80 digits alone are within the range of a double, and the safe integers among them are exact.
    if (isPlain) return;
    const text = this.#bytes.toString("latin1", start, this.#at);
    const read = Number(text);
    if (!Number.isFinite(read)) throw this.#fault("a number out of range");
    if (Number.isSafeInteger(read) && !isExactly(text, read))
      throw this.#fault("a number that would be rounded to a whole number (a text keeps all digits)");
  }

  #digits(): void {
    if (!isDigit(this.#bytes[this.#at])) throw this.#fault("a number that JSON does not have");
    while (isDigit(this.#bytes[this.#at])) this.#at += 1;
  }

  #space(): void {
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.#at += 1;
    }
  }

  #countToken(): void {
    this.#tokens += 1;
    if (this.#tokens > this.#limits.tokensMax)
      throw this.#fault(`more than ${String(this.#limits.tokensMax)} names and values`);
  }

  #expected(what: string): string {
    return this.#at >= this.#bytes.length ? "the JSON text ends too early" : `expected ${what}`;
  }

  #fault(reason: string): Fault {
    return new Fault(reason, this.#at);
  }
}

/**
 * True when a number with a fraction or an exponent is exactly the safe integer that it is parsed to. Code that reads
 * whole numbers rejects everything but safe integers, but could not tell that 9007199254740991.4 or 1e-400 was rounded.
 */
function isExactly(text: string, read: number): boolean {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = BigInt(`${whole}${fraction}`.replace("-", ""));
  if (digits === 0n || read === 0) return digits === 0n && read === 0;
  // The value is between 1 and 2^53, so the exponent is about as large as the number of digits, which is bounded.
  const shift = Number(exponent) - fraction.length;
  const value = BigInt(Math.abs(read));
  return shift >= 0 ? digits * 10n ** BigInt(shift) === value : digits === value * 10n ** BigInt(-shift);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function indexOrEnd(bytes: Buffer, byte: number, from: number): number {
  const index = bytes.indexOf(byte, from);
  return index === -1 ? bytes.length : index;
}

const SPACES = 0x20202020;
const TOP_BITS = 0x80808080 | 0;

/**
 * Returns the offset of the first byte below 0x20, or `end`. Reads four bytes at a time: (w - SPACES) & ~w has a top
 * bit set when one of the four is below 0x20.
 */
function controlOrEnd(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && (bytes.byteOffset + at) % 4 !== 0) {
    if (isControl(bytes[at])) return at;
    at += 1;
  }
  const words = end - at < 4 ? [] : new Int32Array(bytes.buffer, bytes.byteOffset + at, (end - at) >> 2);
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] ?? 0;
    if (((word - SPACES) & ~word & TOP_BITS) !== 0) break;
    at += 4;
  }
  while (at < end && !isControl(bytes[at])) at += 1;
  return at;
}

function isControl(byte: number | undefined): boolean {
  return byte !== undefined && byte < 0x20;
}

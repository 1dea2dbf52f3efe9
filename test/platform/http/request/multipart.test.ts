/** The bounds of a form's headers, which a body of the front's test is too short to reach. */
import { describe, expect, it } from "vitest";
import { readParts } from "../../../../src/platform/http/request/multipart.js";

const TYPE = "multipart/form-data; boundary=x";

function form(parts: number, more: string): Buffer {
  const part = `--x\r\nContent-Disposition: form-data; name="f"\r\n${more}\r\nn\r\n`;
  return Buffer.from(`${part.repeat(parts)}--x--`);
}

describe("the headers of a form", () => {
  it("may be long in some parts, not in all", () => {
    const long = `X: a${" ".repeat(3900)}b\r\n`;
    expect(readParts(form(10, long), TYPE, { partsMax: 100 })).toHaveLength(10);
    expect(readParts(form(100, "Content-Type: text/plain\r\n"), TYPE, { partsMax: 100 })).toHaveLength(100);
    expect(() => readParts(form(100, long), TYPE, { partsMax: 100 })).toThrow("has too many bytes of headers");
  });

  it("are of at most so many parts", () => {
    expect(() => readParts(form(101, ""), TYPE, { partsMax: 100 })).toThrow("has more than 100 parts");
  });

  it("have values without the blanks around them, however many", () => {
    const blanks = " \t".repeat(900);
    const [part] = readParts(form(1, `Content-Type:${blanks}text/plain${blanks}\r\n`), TYPE, { partsMax: 1 });
    expect(part).toMatchObject({ name: "f", type: "text/plain" });
  });
});

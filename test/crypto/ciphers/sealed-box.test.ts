/** Boxes between threads: opened by their recipient for their purpose, and in no other way. */
import { describe, expect, it } from "vitest";
import { AuthenticationFailure } from "../../../src/crypto/ciphers/aead.js";
import { newBoxRecipient, sealBox } from "../../../src/crypto/ciphers/sealed-box.js";

const MESSAGE = Buffer.from("a value that nobody else reads");

describe("a box", () => {
  const recipient = newBoxRecipient();
  const box = sealBox(recipient.publicKey, "secret", MESSAGE);

  it("opens for its recipient, any number of times, and does not show what is in it", () => {
    expect(Buffer.from(recipient.open(box, "secret"))).toEqual(MESSAGE);
    expect(Buffer.from(recipient.open(box, "secret"))).toEqual(MESSAGE);
    expect(Buffer.from(recipient.open(sealBox(recipient.publicKey, "", new Uint8Array()), ""))).toHaveLength(0);
    expect(Buffer.from(box).includes(MESSAGE)).toBe(false);
    expect(box.buffer.byteLength).toBe(box.length);
  });

  it("differs each time", () => {
    expect(Buffer.compare(box, sealBox(recipient.publicKey, "secret", MESSAGE))).not.toBe(0);
  });

  it("does not open for another, for another purpose, or changed in any byte", () => {
    expect(() => newBoxRecipient().open(box, "secret")).toThrow(AuthenticationFailure);
    expect(() => recipient.open(box, "signature")).toThrow(AuthenticationFailure);
    for (let at = 0; at < box.length; at += 1) {
      const changed = Uint8Array.from(box);
      changed[at] = (changed[at] ?? 0) ^ 0x10;
      expect(() => recipient.open(changed, "secret")).toThrow(AuthenticationFailure);
    }
    for (const length of [0, 1, 31, 32, 47, box.length - 1])
      expect(() => recipient.open(box.slice(0, length), "secret")).toThrow(AuthenticationFailure);
  });

  it("is not made for what is no key", () => {
    for (const to of [new Uint8Array(32), new Uint8Array(31), new Uint8Array()])
      expect(() => sealBox(to, "secret", MESSAGE)).toThrow(TypeError);
  });
});

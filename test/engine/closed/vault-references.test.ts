/** References to vaults in inputs: which are found, in which order, what is malformed, and what would be seen. */
import { describe, expect, it } from "vitest";
import {
  distinctReferences,
  findReferences,
  REFERENCES_MAX,
  revealingReferences,
  type VaultReference,
} from "../../../src/engine/closed/vault-references.js";
import type { CircuitInterface } from "../../../src/engine/circuit/interface.js";

const ID = "7a4c1f2e-1111-4222-8333-00000000000a";
const OTHER = "7a4c1f2e-1111-4222-8333-00000000000b";

function found(inputs: unknown): readonly VaultReference[] {
  const result = findReferences({ inputs });
  if (!result.ok) throw new Error(result.details[0]?.message);
  return result.references;
}

function problem(inputs: unknown): { readonly path: string; readonly message: string } | undefined {
  const result = findReferences({ inputs });
  return result.ok ? undefined : result.details[0];
}

describe("finding", () => {
  it("takes references at every depth, in the order of the inputs", () => {
    const inputs = {
      a: "1",
      b: [{ $secret: ID }, "2", [{ $secret: OTHER, vault_id: ID, reveal: true }]],
      bus: { inner: { $sign: ID, message: 5, part: "S" } },
      "c[1]": { $sign: ID.toUpperCase(), message: "0x05" },
    };
    const references = found(inputs);
    expect(references.map(({ path, kind, id }) => [path, kind, id])).toEqual([
      ["b[0]", "secret", ID],
      ["b[2][0]", "secret", OTHER],
      ["bus.inner", "signature", ID],
      ["c[1]", "signature", ID],
    ]);
    expect(distinctReferences(references).map(({ path }) => path)).toEqual(["b[0]", "b[2][0]", "bus.inner"]);
    references.forEach(({ put }, i) => {
      put(i);
    });
    expect(inputs).toEqual({ a: "1", b: [0, "2", [1]], bus: { inner: 2 }, "c[1]": 3 });
  });

  it("takes a signature in place of all inputs, and puts values under every name", () => {
    const holder = { inputs: { $sign: ID, message: "1" } as unknown };
    const whole = findReferences(holder);
    if (whole.ok) whole.references[0]?.put({ S: "1" });
    expect(holder.inputs).toEqual({ S: "1" });
    const named = JSON.parse(`{"__proto__": {"$secret": "${ID}"}}`) as object;
    found(named)[0]?.put("7");
    expect(Object.entries(named)).toEqual([["__proto__", "7"]]);
    expect(Object.getPrototypeOf(named)).toBe(Object.prototype);
  });

  it("takes nothing else for one", () => {
    for (const inputs of [undefined, null, "$secret", 5, [], { $secrets: ID }, { a: { secret: ID } }, { a: ["$sign"] }])
      expect(found(inputs)).toEqual([]);
  });

  it.each([
    [{ a: { $secret: "my password" } }, "a: $secret takes an id"],
    [{ a: { $secret: { $secret: ID } } }, "a: $secret takes an id"],
    [{ a: { $secret: ID, more: 1 } }, "a: beside $secret there may be vault_id, reveal"],
    [{ a: { $secret: ID, $sign: ID } }, "a: beside $secret there may be vault_id, reveal"],
    [{ a: { $secret: ID, vault_id: "x" } }, "a: vault_id is no id"],
    [{ a: { $secret: ID, reveal: "yes" } }, "a: reveal is true or false"],
    [{ $secret: ID }, "witness: a secret is the value of an input, not all of them"],
    [{ $sign: ID }, "witness: message must be a decimal or 0x-hex string, or a whole number"],
    [{ a: { $sign: ID } }, "a: message must be a decimal or 0x-hex string, or a whole number"],
    [{ a: { $sign: ID, message: "-1" } }, "a: message must not be negative"],
    [
      { a: { $sign: ID, message: (1n << 254n).toString() } },
      "a: message is not below the prime of the circuit's field",
    ],
    [{ a: { $sign: ID, message: 1, part: "R9" } }, "a: part is one of PublicKey, Ax, Ay, Message, R8, R8x, R8y, S"],
  ])("refuses %j without its values", (inputs, message) => {
    expect(problem(inputs)?.message).toBe(message);
  });

  it("refuses too many, and does not follow what is too deep", () => {
    const many = Array.from({ length: REFERENCES_MAX + 1 }, () => ({ $secret: ID }));
    expect(problem({ a: many })?.message).toContain(`more than ${String(REFERENCES_MAX)}`);
    expect(found({ a: many.slice(1) })).toHaveLength(REFERENCES_MAX);
    let deep: unknown = { $secret: ID };
    for (let i = 0; i < 50_000; i += 1) deep = [deep];
    expect(found({ a: deep })).toEqual([]);
  });
});

describe("revealing", () => {
  const circuit: CircuitInterface = {
    curve: "BN254",
    ...{ wireCount: 4, constraintCount: 1, outputCount: 1, publicInputCount: 1, privateInputCount: 1 },
    signals: [
      { name: "out", dimensions: [], visibility: "output" },
      { name: "open", dimensions: [], visibility: "public" },
      { name: "shut", dimensions: [2], visibility: "private" },
    ],
  };
  const paths = (inputs: unknown, of = circuit): string[] =>
    revealingReferences(of, found(inputs)).map(({ path }) => path);

  it("is a secret in a public input, unless that is said", () => {
    expect(paths({ shut: [{ $secret: ID }, { $secret: ID }], open: "1" })).toEqual([]);
    expect(paths({ open: { $secret: ID }, "open[0]": { $secret: ID } })).toEqual(["open", "open[0]"]);
    expect(paths({ open: { $secret: ID, reveal: true } })).toEqual([]);
    // A signature is what the key's own route answers; it gives no value away.
    expect(paths({ open: { $sign: ID, message: 1, part: "S" } })).toEqual([]);
  });

  it("may be one in any input of a circuit without names", () => {
    expect(paths({ shut: { $secret: ID } }, { ...circuit, isUnnamed: true })).toEqual(["shut"]);
    expect(paths({ shut: { $secret: ID } }, { ...circuit, isUnnamed: true, publicInputCount: 0 })).toEqual([]);
  });
});

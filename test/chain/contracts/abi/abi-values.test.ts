/**
 * Values between JSON and the contract ABI, with viem as the independent coder, and ABIs as hostile users write them.
 */
import {
  encodeAbiParameters,
  getAddress,
  parseAbiParameters,
  toFunctionSelector,
  type AbiParameter as ViemParameter,
  type Hex,
} from "viem";
import { describe, expect, it } from "vitest";
import { findMethod, membersOf, readAbi, selectorOf } from "../../../../src/chain/contracts/abi/abi.js";
import {
  readType,
  typeText,
  type AbiMember,
  type AbiParameter,
} from "../../../../src/chain/contracts/abi/abi-types.js";
import { decodeOutputs, encodeArguments } from "../../../../src/chain/contracts/abi/abi-values.js";
import { linkBytecode } from "../../../../src/chain/contracts/builds/bytecode.js";
import { typeByAbi } from "../../../../src/chain/contracts/builds/detection.js";
import { customErrorText } from "../../../../src/chain/contracts/reverts.js";
import { AppError } from "../../../../src/platform/errors.js";
import { seededRandom, type SeededRandom } from "../../../support/seeded.js";

function members(...types: readonly string[]): AbiMember[] {
  return membersOf(
    (parseAbiParameters(types.join(", ")) as readonly (Omit<AbiParameter, "name"> & { readonly name?: string })[]).map(
      (parameter) => ({
        ...parameter,
        name: parameter.name ?? "",
      }),
    ),
  );
}

function failure(run: () => unknown): AppError {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

/** A random type, and a value of it both as JSON takes it and as viem does. */
function sample(random: SeededRandom, depth: number): { parameter: AbiParameter; json: unknown; native: unknown } {
  const bytesOf = (length: number): string =>
    `0x${Array.from({ length }, () => random.below(256).toString(16).padStart(2, "0")).join("")}`;
  switch (random.below(depth > 2 ? 5 : 7)) {
    case 0: {
      const bits = 8 * (1 + random.below(32));
      const value = BigInt(bytesOf(bits / 8)) % 2n ** BigInt(bits);
      const isSigned = random.chance(0.5);
      const native = isSigned ? value - 2n ** BigInt(bits - 1) : value;
      return {
        parameter: { name: "", type: `${isSigned ? "" : "u"}int${String(bits)}` },
        json: bits <= 48 ? Number(native) : String(native),
        native: bits <= 48 ? Number(native) : native,
      };
    }
    case 1: {
      const flag = random.chance(0.5);
      return { parameter: { name: "", type: "bool" }, json: flag, native: flag };
    }
    case 2: {
      const address = getAddress(bytesOf(20));
      return { parameter: { name: "", type: "address" }, json: address, native: address };
    }
    case 3: {
      const length = 1 + random.below(32);
      const bytes = bytesOf(length);
      return { parameter: { name: "", type: `bytes${String(length)}` }, json: bytes, native: bytes };
    }
    case 4: {
      const text = Array.from({ length: random.below(80) }, () => random.pick(["a", "é", "漢", "🙂", "\u0000"])).join(
        "",
      );
      return { parameter: { name: "", type: "string" }, json: text, native: text };
    }
    case 5: {
      const one = sample(random, depth + 1);
      const length = 1 + random.below(3);
      const parameter = {
        ...one.parameter,
        type: `${one.parameter.type}[${random.chance(0.5) ? String(length) : ""}]`,
      };
      return {
        parameter,
        json: Array.from({ length }, () => one.json),
        native: Array.from({ length }, () => one.native),
      };
    }
    default: {
      const parts = Array.from({ length: 1 + random.below(3) }, (_, index) => ({
        ...sample(random, depth + 1),
        name: `m${String(index)}`,
      }));
      return {
        parameter: {
          name: "",
          type: "tuple",
          components: parts.map(({ parameter, name }) => ({ ...parameter, name })),
        },
        json: Object.fromEntries(parts.map(({ name, json }) => [name, json])),
        native: Object.fromEntries(parts.map(({ name, native }) => [name, native])),
      };
    }
  }
}

describe("values of the ABI", () => {
  it("encodes random values of random types as viem does, and decodes them to the same values", () => {
    const random = seededRandom();
    for (let round = 0; round < 200; round += 1) {
      const { parameter, json, native } = sample(random, 0);
      const type = readType(parameter);
      if (type === undefined) throw new Error(`seed ${String(random.seed)}: ${JSON.stringify(parameter)} was refused`);
      const encoded = encodeArguments([{ name: "", type }], [json], "params");
      expect(encoded, `seed ${String(random.seed)}: ${JSON.stringify(parameter)}`).toBe(
        encodeAbiParameters([parameter as ViemParameter], [native]),
      );
      expect(decodeOutputs([{ name: "", type }], encoded), `seed ${String(random.seed)}`).toEqual(json);
    }
  });

  it.each([
    ["uint8", 255, true],
    ["uint8", 256, false],
    ["uint8", -1, false],
    ["int8", -128, true],
    ["int8", -129, false],
    ["uint256", String(2n ** 256n - 1n), true],
    ["uint256", String(2n ** 256n), false],
    ["uint256", "0xff", true],
    ["uint256", "1e3", false],
    ["uint256", 1.5, false],
    ["uint256", 2 ** 53, false],
    ["uint256", "", false],
    ["uint256", null, false],
    ["uint256", true, false],
    ["int16", "-0x8000", true],
    ["bool", 1, false],
    ["bool", "true", false],
    ["address", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", true],
    ["address", "0x70997970C51812dc3A010C7d01b50e0d17dc79c8", false],
    ["address", "0x70997970c51812dc3a010c7d01b50e0d17dc79", false],
    ["bytes4", "0xdeadbeef", true],
    ["bytes4", "0xdeadbe", false],
    ["bytes", "0x", true],
    ["bytes", "0xabc", false],
    ["bytes", "abcd", false],
    ["string", "\ud800", false],
    ["string", 5, false],
    ["uint8[2]", [1, 2], true],
    ["uint8[2]", [1], false],
    ["uint8[]", "no", false],
    ["uint8[]", [], true],
  ])("takes a %s given as %j: %s", (type, value, isTaken) => {
    const run = (): unknown => encodeArguments(members(type), [value], "params");
    if (isTaken) expect(run()).toMatch(/^0x/);
    else
      expect(failure(run)).toMatchObject({
        code: "argument_invalid",
        details: [expect.objectContaining({ path: expect.stringMatching(/^params\[0\]/) as string })],
      });
  });

  it("names every bad argument by its place, those inside of tuples and lists too", () => {
    const { details } = failure(() =>
      encodeArguments(
        members("(uint8 a, bool[] b) point", "address"),
        [{ a: 300, b: [true, 1], c: 0 }, "0x"],
        "params",
      ),
    );
    expect(details.map(({ path }) => path)).toEqual(["params[0].c", "params[0].a", "params[0].b[1]", "params[1]"]);
  });

  it("answers tuples without names of their own as lists, and detects data that does not match", () => {
    const data = encodeAbiParameters(parseAbiParameters("(uint8, bool), (uint8 a, uint8 a)"), [
      [1, true],
      { a: 2 },
    ] as never);
    expect(decodeOutputs(members("(uint8, bool)", "(uint8 a, uint8 a)"), data)).toEqual([
      [1, true],
      [2, 2],
    ]);
    expect(decodeOutputs(members("string"), "0x20")).toBeUndefined();
    expect(decodeOutputs(members("uint8[]"), `0x${"20".padStart(64, "0")}${"f".repeat(64)}`)).toBeUndefined();
    expect(decodeOutputs([], "0x")).toBeNull();
  });
});

describe("an ABI", () => {
  it.each([
    ["no list", {}],
    ["an entry that is none", [5]],
    ["a type of entry that is none", [{ type: "function2" }]],
    ["a function without a name", [{ type: "function" }]],
    ["a type that is none", [{ type: "function", name: "f", inputs: [{ type: "uint9" }] }]],
    ["a tuple of nothing", [{ type: "function", name: "f", inputs: [{ type: "tuple[]", components: [] }] }]],
    ["an array of no elements", [{ type: "function", name: "f", inputs: [{ type: "uint8[0]" }] }]],
    ["an array too large to visit", [{ type: "function", name: "f", outputs: [{ type: "uint8[65][65]" }] }]],
    ["arrays nested too deeply", [{ type: "function", name: "f", inputs: [{ type: `uint8${"[]".repeat(13)}` }] }]],
    ["a mutability that is none", [{ type: "function", name: "f", stateMutability: "maybe" }]],
    ["more entries than are taken", Array.from({ length: 2_001 }, () => ({ type: "receive" }))],
  ])("with %s is refused", (_name, abi) => {
    expect(failure(() => readAbi(abi, "params.abi")).code).toBe("abi_invalid");
  });

  it("of an old compiler is read, with its types in canonical spelling", () => {
    const [entry] = readAbi(
      [{ name: "f", constant: true, inputs: [{ name: "x", type: "uint[2][]" }], outputs: [] }],
      "abi",
    );
    expect(entry).toMatchObject({ type: "function", stateMutability: "view", inputs: [{ type: "uint256[2][]" }] });
  });

  it("has signatures and selectors as viem has them", () => {
    const abi = readAbi(
      [
        {
          type: "function",
          name: "f",
          inputs: [
            {
              name: "p",
              type: "tuple[2]",
              components: [
                { name: "a", type: "uint" },
                { name: "b", type: "bytes4[]" },
              ],
            },
          ],
        },
      ],
      "abi",
    );
    const { signature, selector } = findMethod(abi, " f ", 1);
    expect(signature).toBe("f((uint256,bytes4[])[2])");
    expect(selector).toBe(toFunctionSelector("function f((uint256 a, bytes4[] b)[2] p)"));
    expect(typeText(membersOf(abi[0]?.inputs ?? [])[0]!.type)).toBe("(uint256,bytes4[])[2]");
  });

  it("is a token's only when it has all functions of the standard", () => {
    const of = (...signatures: string[]): ReturnType<typeof readAbi> =>
      readAbi(
        signatures.map((signature) => {
          const [, name, types = ""] = /^(\w+)\((.*)\)$/.exec(signature) ?? [];
          return {
            type: "function",
            name,
            inputs: types === "" ? [] : types.split(",").map((type) => ({ name: "", type })),
          };
        }),
        "abi",
      );
    const erc20 = [
      "totalSupply()",
      "balanceOf(address)",
      "transfer(address,uint256)",
      "transferFrom(address,address,uint256)",
      "approve(address,uint256)",
      "allowance(address,address)",
    ];
    expect(typeByAbi(of(...erc20))).toBe("erc20");
    expect(typeByAbi(of(...erc20.slice(1)))).toBeUndefined();
  });

  it("names its own errors in reverts", () => {
    const abi = readAbi(
      [
        {
          type: "error",
          name: "Low",
          inputs: [
            { name: "have", type: "uint256" },
            { name: "", type: "address" },
          ],
        },
      ],
      "abi",
    );
    const data: Hex = `${selectorOf("Low(uint256,address)") as Hex}${encodeAbiParameters(parseAbiParameters("uint256, address"), [5n, "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"]).slice(2)}`;
    expect(customErrorText(abi, data)).toBe('Low(have: "5", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8")');
    expect(customErrorText(abi, data.slice(0, 20))).toBe("Low(?)");
    expect(customErrorText(abi, "0x12345678")).toBeUndefined();
  });
});

describe("linking", () => {
  const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

  it("fills holes by reference and by hash, and refuses what is left over or outside", () => {
    const hole = `__$${"0".repeat(34)}$__`;
    expect(
      linkBytecode(
        { object: `0x6000${hole}00`, linkReferences: { "a.sol": { L: [{ start: 2, length: 20 }] } } },
        { L: ADDRESS },
        "b",
      ),
    ).toBe(`0x6000${ADDRESS.slice(2).toLowerCase()}00`);
    expect(failure(() => linkBytecode({ object: `6000${hole}00` }, {}, "b"))).toMatchObject({
      code: "libraries_unlinked",
    });
    expect(
      failure(() =>
        linkBytecode(
          { object: "6000", linkReferences: { "a.sol": { L: [{ start: 2, length: 20 }] } } },
          { L: ADDRESS },
          "b",
        ),
      ),
    ).toMatchObject({ code: "bytecode_invalid" });
    expect(failure(() => linkBytecode({ object: "600" }, {}, "b"))).toMatchObject({ code: "bytecode_invalid" });
    expect(failure(() => linkBytecode({ object: "00".repeat(128 * 1024 + 1) }, {}, "b"))).toMatchObject({
      code: "bytecode_invalid",
    });
  });
});

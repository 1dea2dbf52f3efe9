/**
 * Types of the contract ABI (Solidity documentation, "Contract ABI Specification"): reads their texts into trees. It is
 * strict and limits depth and size, because ABIs come from users and a tree decides how much work decoding is.
 */

export type AbiType =
  | { readonly kind: "integer"; readonly text: string; readonly bits: number; readonly isSigned: boolean }
  /** `length` is null for `bytes`, whose length is part of the value. */
  | { readonly kind: "bytes"; readonly text: string; readonly length: number | null }
  | { readonly kind: "address" | "bool" | "string"; readonly text: string }
  /** `length` is null for `T[]`, whose length is part of the value. */
  | { readonly kind: "array"; readonly of: AbiType; readonly length: number | null }
  | { readonly kind: "tuple"; readonly members: readonly AbiMember[] };

export interface AbiMember {
  /** Empty when the ABI gives none. */
  readonly name: string;
  readonly type: AbiType;
}

/** A parameter as an ABI's JSON has it, its type in the canonical spelling. */
export type AbiParameter = {
  readonly name: string;
  readonly type: string;
  readonly internalType?: string;
  readonly indexed?: boolean;
  readonly components?: readonly AbiParameter[];
};

/** Deeper than any compiler writes, shallow enough for recursion. */
const DEPTH_MAX = 12;
/** Elements of nested fixed arrays, such as `uint256[64][64]`. Decoding visits each of them. */
const FIXED_ELEMENTS_MAX = 4096;

const TYPE =
  /^(address|bool|string|function|tuple|bytes(?:[1-9]|[12][0-9]|3[0-2])?|u?int(?:8|16|24|32|40|48|56|64|72|80|88|96|104|112|120|128|136|144|152|160|168|176|184|192|200|208|216|224|232|240|248|256)?)((?:\[(?:[1-9][0-9]{0,4})?\])*)$/;

/**
 * Reads the tree of a parameter.
 * @returns undefined when it is not a type of the ABI, is nested too deeply or has fixed arrays that are too large
 */
export function readType(
  { type, components }: Pick<AbiParameter, "type" | "components">,
  depth = 0,
): AbiType | undefined {
  const [, base = "", dimensions = ""] = TYPE.exec(type) ?? [];
  if (base === "" || depth > DEPTH_MAX) return undefined;
  const lengths = [...dimensions.matchAll(/\[([0-9]*)\]/g)].map(([, length = ""]) =>
    length === "" ? null : Number(length),
  );
  if (
    depth + lengths.length > DEPTH_MAX ||
    lengths.reduce<number>((product, length) => product * (length ?? 1), 1) > FIXED_ELEMENTS_MAX
  )
    return undefined;
  let tree = base === "tuple" ? readTuple(components, depth + lengths.length) : readBase(base);
  for (const length of lengths) if (tree !== undefined) tree = { kind: "array", of: tree, length };
  return tree;
}

/** Returns the canonical spelling of a type, as signatures have it: `(uint256,address[])[2]`. */
export function typeText(type: AbiType): string {
  switch (type.kind) {
    case "array":
      return `${typeText(type.of)}[${type.length === null ? "" : String(type.length)}]`;
    case "tuple":
      return `(${type.members.map((member) => typeText(member.type)).join(",")})`;
    default:
      return type.text;
  }
}

/** Returns the canonical spelling of a type: `uint256` for `uint`, `bytes24` for `function`. */
export function canonicalType(type: string): string {
  return type.replace(/^(u?int)(?=\[|$)/, "$1256").replace(/^function(?=\[|$)/, "bytes24");
}

function readTuple(components: readonly AbiParameter[] | undefined, depth: number): AbiType | undefined {
  // An empty tuple takes no bytes, so that a few bytes of data could claim to have any number of them.
  if (components === undefined || components.length === 0) return undefined;
  const members: AbiMember[] = [];
  for (const component of components) {
    const type = readType(component, depth + 1);
    if (type === undefined) return undefined;
    members.push({ name: component.name, type });
  }
  return { kind: "tuple", members };
}

function readBase(text: string): AbiType {
  if (text === "address" || text === "bool" || text === "string") return { kind: text, text };
  if (text === "function") return { kind: "bytes", text: "bytes24", length: 24 };
  if (text.startsWith("bytes")) return { kind: "bytes", text, length: text === "bytes" ? null : Number(text.slice(5)) };
  const bits = Number(/[0-9]+$/.exec(text)?.[0] ?? 256);
  const isSigned = text.startsWith("int");
  return { kind: "integer", text: `${isSigned ? "" : "u"}int${String(bits)}`, bits, isSigned };
}

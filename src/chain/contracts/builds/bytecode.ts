/**
 * Creation code as artifacts and the compiler give it: hex with holes where addresses of libraries belong (Solidity
 * documentation, "Library Linking"), put into the form that a transaction carries.
 */
import { createHash } from "node:crypto";
import type { Hex } from "viem";
import { keccak256 } from "../../../crypto/hashes/keccak.js";
import { AppError, type ErrorDetail } from "../../../platform/errors.js";
import { BYTECODE_BYTES_MAX } from "../contract-schemas.js";

/** File -> library -> byte offsets, as compilers write them. */
export type LinkPlaces = Readonly<
  Record<string, Readonly<Record<string, readonly { readonly start: number; readonly length: number }[]>>>
>;

export interface Unlinked {
  /** Hex, with or without 0x. */
  readonly object: string;
  readonly linkReferences?: LinkPlaces | undefined;
}

const ADDRESS_BYTES = 20;
const HOLE = /__\$([0-9a-f]{34})\$__/g;
const HEX = /^(?:[0-9a-fA-F]{2})*$/;

/**
 * Puts the libraries' addresses in.
 * @param libraries `Name` or `path:Name` -> address
 * @returns 0x-hex. Throws `libraries_unlinked`, naming those that are missing, or `bytecode_invalid`.
 */
export function linkBytecode(
  { object, linkReferences = {} }: Unlinked,
  libraries: Readonly<Record<string, string>>,
  path: string,
): Hex {
  let code = object.startsWith("0x") ? object.slice(2) : object;
  const missing: string[] = [];
  for (const [file, places] of Object.entries(linkReferences)) {
    for (const [name, holes] of Object.entries(places)) {
      const address = libraryAddress(libraries, `${file}:${name}`, name);
      if (address === undefined) missing.push(`${file}:${name}`);
      else for (const { start, length } of holes) code = fill(code, start, length, address, path);
    }
  }
  const byHash = new Map(
    Object.entries(libraries).map(([name, address]) => [holeOf(name), address.slice(2).toLowerCase()]),
  );
  code = code.replace(HOLE, (hole, hash: string) => byHash.get(hash) ?? hole);
  const left = missing.length > 0 ? missing : [...new Set([...code.matchAll(HOLE)].map(([hole]) => hole))];
  if (left.length > 0) {
    throw unlinked(
      left.slice(0, 20).map((name) => ({
        message: `the library ${name.slice(0, 200)} has no address; name it in params.libraries`,
        code: "libraries_unlinked",
        path: "params.libraries",
      })),
    );
  }
  if (code === "" || !HEX.test(code)) throw invalid("the bytecode is not hex of whole bytes", path);
  if (code.length / 2 > BYTECODE_BYTES_MAX)
    throw invalid(`the bytecode has more than ${String(BYTECODE_BYTES_MAX)} bytes`, path);
  return `0x${code.toLowerCase()}`;
}

/** SHA-256 of the code's bytes, hex. */
export function fingerprintOf(bytecode: Hex): string {
  return createHash("sha256")
    .update(Buffer.from(bytecode.slice(2), "hex"))
    .digest("hex");
}

function libraryAddress(libraries: Readonly<Record<string, string>>, full: string, name: string): string | undefined {
  const given = Object.hasOwn(libraries, full)
    ? libraries[full]
    : Object.hasOwn(libraries, name)
      ? libraries[name]
      : undefined;
  return given?.slice(2).toLowerCase();
}

function fill(code: string, start: number, length: number, address: string, path: string): string {
  const [from, to] = [start * 2, (start + ADDRESS_BYTES) * 2];
  if (length !== ADDRESS_BYTES || to > code.length)
    throw invalid("a link reference lies outside of the bytecode", path);
  return code.slice(0, from) + address + code.slice(to);
}

/** What compilers since 0.5 write into a hole: 34 digits of the hash of the library's full name. */
function holeOf(fullName: string): string {
  return Buffer.from(keccak256(Buffer.from(fullName, "utf8")))
    .toString("hex")
    .slice(0, 34);
}

function unlinked(details: readonly ErrorDetail[]): AppError {
  return new AppError("libraries_unlinked", { message: details[0]?.message ?? "a library has no address", details });
}

function invalid(message: string, path: string): AppError {
  return new AppError("bytecode_invalid", { message, details: [{ message, code: "bytecode_invalid", path }] });
}

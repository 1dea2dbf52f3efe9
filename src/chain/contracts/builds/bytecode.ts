/**
 * Links creation code: artifacts and the compiler give it as hex with holes where addresses of libraries belong
 * (Solidity documentation, "Library Linking"); a transaction carries it with the addresses in place.
 */
import { createHash } from "node:crypto";
import type { Hex } from "../../hex.js";
import { keccak256 } from "../../../crypto/hashes/keccak.js";
import { AppError, invalidMember, type ErrorDetail } from "../../../platform/errors.js";
import { BYTECODE_BYTES_MAX } from "../contract-schemas.js";

/** Where an address belongs; in bytes of the code. */
interface Hole {
  readonly start: number;
  readonly length: number;
}

interface Unlinked {
  /** Hex, with or without 0x. */
  readonly object: string;
  /** File -> library -> holes, as compilers write them. */
  readonly linkReferences?: Readonly<Record<string, Readonly<Record<string, readonly Hole[]>>>> | undefined;
}

const ADDRESS_BYTES = 20;
const HOLE = /__\$([0-9a-f]{34})\$__/g;
const FINDINGS_MAX = 20;
const HEX = /^(?:[0-9a-fA-F]{2})*$/;

/**
 * Puts the addresses of libraries into creation code and returns it as 0x-hex.
 * @param libraries `Name` or `path:Name` -> address
 * @param path the member of the request that has the code
 * @throws AppError `libraries_unlinked`, naming the libraries that are missing, or `bytecode_invalid`
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
      else for (const hole of holes) code = fill(code, hole, address, path);
    }
  }
  const byHash = new Map(
    Object.entries(libraries).map(([name, address]) => [holeOf(name), address.slice(2).toLowerCase()]),
  );
  code = code.replace(HOLE, (hole, hash: string) => byHash.get(hash) ?? hole);
  const unresolved = missing.length > 0 ? missing : [...new Set([...code.matchAll(HOLE)].map(([hole]) => hole))];
  if (unresolved.length > 0) throw unlinked(unresolved.slice(0, FINDINGS_MAX));
  if (code === "" || !HEX.test(code)) throw invalid("the bytecode is not hex of whole bytes", path);
  if (code.length / 2 > BYTECODE_BYTES_MAX)
    throw invalid(`the bytecode has more than ${String(BYTECODE_BYTES_MAX)} bytes`, path);
  return `0x${code.toLowerCase()}`;
}

/** Returns the SHA-256 of the code's bytes, in hex. */
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

function fill(code: string, { start, length }: Hole, address: string, path: string): string {
  const [from, to] = [start * 2, (start + ADDRESS_BYTES) * 2];
  if (length !== ADDRESS_BYTES || to > code.length) throw invalid("a link reference lies outside the bytecode", path);
  return code.slice(0, from) + address + code.slice(to);
}

/** Returns what compilers since 0.5 write into a hole: 34 hex digits of the hash of the library's full name. */
function holeOf(fullName: string): string {
  return Buffer.from(keccak256(Buffer.from(fullName, "utf8")))
    .toString("hex")
    .slice(0, 34);
}

function unlinked(names: readonly string[]): AppError {
  const details = names.map((name): ErrorDetail => ({
    message: `the library ${name.slice(0, 200)} has no address; name it in params.libraries`,
    code: "libraries_unlinked",
    path: "params.libraries",
  }));
  return new AppError("libraries_unlinked", { message: details[0]?.message ?? "a library has no address", details });
}

function invalid(message: string, path: string): AppError {
  return invalidMember(path, message, "bytecode_invalid");
}

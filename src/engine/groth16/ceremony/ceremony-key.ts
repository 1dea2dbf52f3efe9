/**
 * A key of a ceremony as a file that is read in ranges: where its sections lie, its header and its transcript. A key
 * may be hundreds of megabytes; here only what is small comes into memory.
 */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { BN254 } from "../../curves/bn254.js";
import type { RangeFile } from "../../powers-of-tau/file-layout.js";
import { Phase2Error, readTranscript, writeTranscript } from "../phases/phase2.js";
import type { Delta, Phase2Contribution, Phase2Transcript } from "../phases/phase2.js";
import { CONTRIBUTIONS_BYTES_MAX, ProvingKeyFormatError, readHeaderSection } from "../proving-key.js";
import {
  GROTH16_PROTOCOL,
  ZKEY_MAGIC,
  ZKEY_SECTION,
  ZKEY_VERSION,
  headerOffsets,
  sectionBytes,
} from "../zkey-layout.js";
import type { ZkeyCounts } from "../zkey-layout.js";
import { CeremonyError } from "./ceremony-fault.js";

export type KeySectionName = keyof typeof ZKEY_SECTION;

/** Where a section's content lies. */
export interface KeyPlace {
  readonly offset: number;
  readonly size: number;
}

export interface CeremonyKey extends ZkeyCounts {
  readonly curve: CurveParameters;
  readonly sections: Readonly<Record<KeySectionName, KeyPlace>>;
  /** The content of the header section. */
  readonly header: Uint8Array;
  readonly delta: Delta;
  /** The content of the section of contributions. */
  readonly transcriptBytes: Uint8Array;
  readonly transcript: Phase2Transcript;
}

/** In the order of their numbers, in which snarkjs writes them after a contribution. */
export const KEY_SECTIONS = (Object.keys(ZKEY_SECTION) as KeySectionName[]).sort(
  (a, b) => ZKEY_SECTION[a] - ZKEY_SECTION[b],
);
export const KEY_HEAD_BYTES = 12;
export const SECTION_HEAD_BYTES = 12;
/**
 * snarkjs cuts the names of all contributions to so many UTF-16 units when it writes a key, so that a longer one would
 * be another in the next contributor's file.
 */
export const CONTRIBUTION_NAME_MAX = 64;

/**
 * Reads a key's frame.
 * @throws CeremonyError `not_a_key`, `curve_unsupported`, `contribution_malformed`
 */
export function readCeremonyKey(file: RangeFile): CeremonyKey {
  const sections = readSections(file);
  const header = readPlace(file, sections.header);
  const { curve, deltaG1, deltaG2, ...counts } = headerOf(header);
  if (curve.name !== BN254.name)
    throw new CeremonyError("curve_unsupported", `ceremonies are held over BN254, not over ${curve.name}`);
  if (readU32(readPlace(file, sections.protocol), 0) !== GROTH16_PROTOCOL) throw notAKey("it is not for Groth16");
  const lengths = sectionBytes(counts, curve);
  for (const [name, length] of Object.entries(lengths) as [keyof typeof lengths, number][])
    if (sections[name].size !== length) throw notAKey(`section ${name} has a wrong length`);
  const transcriptBytes = readPlace(file, sections.contributions);
  return {
    ...{ curve, sections, header, delta: { g1: deltaG1, g2: deltaG2 }, transcriptBytes },
    ...{ wireCount: counts.wireCount, publicCount: counts.publicCount, domainPower: counts.domainPower },
    transcript: transcriptOf(transcriptBytes, curve),
  };
}

/** Returns the byte range of delta in the header; everything else in it belongs to the circuit and to phase 1. */
export function deltaRange(curve: CurveParameters): { readonly start: number; readonly end: number } {
  const { deltaG1, end } = headerOffsets(curve);
  return { start: deltaG1, end };
}

function readSections(file: RangeFile): Record<KeySectionName, KeyPlace> {
  if (file.size < KEY_HEAD_BYTES) throw notAKey("it is too short");
  const head = readPlace(file, { offset: 0, size: KEY_HEAD_BYTES });
  if (readU32(head, 0) !== ZKEY_MAGIC) throw notAKey("it does not begin with the mark of a .zkey file");
  if (readU32(head, 4) !== ZKEY_VERSION) throw notAKey("the version of its format is not known");
  if (readU32(head, 8) !== KEY_SECTIONS.length) throw notAKey(`it has not ${KEY_SECTIONS.length} sections`);
  const found = new Map<KeySectionName, KeyPlace>();
  let at = KEY_HEAD_BYTES;
  for (let i = 0; i < KEY_SECTIONS.length; i += 1) {
    if (at + SECTION_HEAD_BYTES > file.size) throw notAKey("it ends before its last section");
    const entry = readPlace(file, { offset: at, size: SECTION_HEAD_BYTES });
    const name = KEY_SECTIONS.find((each) => ZKEY_SECTION[each] === readU32(entry, 0));
    if (name === undefined) throw notAKey("a section is of an unknown kind");
    if (found.has(name)) throw notAKey(`section ${name} comes twice`);
    const size = readU32(entry, 4) + readU32(entry, 8) * 2 ** 32;
    at += SECTION_HEAD_BYTES;
    if (size > file.size - at) throw notAKey(`it ends inside section ${name}`);
    found.set(name, { offset: at, size });
    at += size;
  }
  if (at !== file.size) throw notAKey("bytes follow its last section");
  const sections = Object.fromEntries(found) as Record<KeySectionName, KeyPlace>;
  if (sections.protocol.size !== 4) throw notAKey("section protocol has a wrong length");
  if (sections.header.size > headerOffsets(BN254).end * 2) throw notAKey("section header has a wrong length");
  if (sections.contributions.size > CONTRIBUTIONS_BYTES_MAX) throw notAKey("section contributions is too long");
  return sections;
}

function headerOf(header: Uint8Array): ReturnType<typeof readHeaderSection> {
  try {
    return readHeaderSection(header);
  } catch (error) {
    if (error instanceof ProvingKeyFormatError) throw notAKey(error.message);
    throw error;
  }
}

/** Reads the transcript and refuses every spelling but the one that snarkjs would write again. */
function transcriptOf(bytes: Uint8Array, curve: CurveParameters): Phase2Transcript {
  let transcript: Phase2Transcript;
  try {
    transcript = readTranscript(bytes, curve);
  } catch (error) {
    if (error instanceof Phase2Error) throw malformed(error.message);
    throw error;
  }
  for (const [i, { name }] of transcript.contributions.entries())
    if (!isPlainName(name)) throw malformed(`the name of contribution ${i + 1} is not one that snarkjs keeps`);
  if (!areEqual(writeTranscript(transcript, curve), bytes))
    throw malformed("a contribution is written in another form than the one it has");
  return transcript;
}

/** Tells whether snarkjs writes a contribution's name as it read it. */
export function isPlainName(name: Phase2Contribution["name"]): boolean {
  return name === undefined || (name !== "" && name.length <= CONTRIBUTION_NAME_MAX);
}

/** Tells whether two arrays have the same bytes. Not in constant time, and without node:crypto: it runs in browsers. */
function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}

/** Reads a part of a file. */
export function readPlace(file: RangeFile, { offset, size }: KeyPlace): Uint8Array {
  const bytes = new Uint8Array(size);
  file.read(bytes, offset);
  return bytes;
}

function readU32(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(at, true);
}

function notAKey(message: string): CeremonyError {
  return new CeremonyError("not_a_key", `the file is no key of Groth16: ${message}`);
}

function malformed(message: string): CeremonyError {
  return new CeremonyError("contribution_malformed", message);
}

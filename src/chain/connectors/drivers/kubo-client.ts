/**
 * The part of kubo's RPC API that the ipfs driver needs (docs.ipfs.tech/reference/kubo/rpc). Every call is a POST with
 * its arguments as `arg` in the query; failures are a 500 with `{Message, Code, Type}`, told apart by known messages.
 */
import { AppError, notFound } from "../../../platform/errors.js";
import type { EgressAnswer } from "../../../platform/net/egress.js";
import { ENTITY_BYTES_MAX } from "../connector-schemas.js";
import type { Peer } from "./driver.js";
import { askPeer, authorization, isRecord, jsonOf, peerUrl, type PeerRequest } from "./http-peer.js";
import { multipartOf, type FilePart } from "./multipart.js";
import { answerInvalid, credentialsRejected, PEER_TIMEOUT_MS } from "./peer-failures.js";
import { postStreamed } from "./streamed-post.js";

interface AddedFile {
  readonly path: string;
  readonly cid: string;
  /** Bytes of the whole tree below it, as kubo counts them. */
  readonly size: number;
}
export interface ObjectStat {
  readonly cid: string;
  readonly type: "file" | "directory";
  /** Bytes of content; 0 for a directory. */
  readonly size: number;
}
interface DirectoryLink {
  readonly name: string;
  readonly cid: string;
  readonly size: number;
  readonly type: "file" | "directory";
}

const API = "/api/v0";
const KUBO = "an IPFS node";
/** With room for directories and boundaries around the content. */
const ADD_BYTES_MAX = ENTITY_BYTES_MAX + 256 * 1024;
const ADD_TIMEOUT_MS = 20_000;
/** Kubo may fetch content from other nodes. Its own timeout is shorter than this, so that its answer arrives. */
const FETCH_TIMEOUT_MS = 10_000;
const KUBO_TIMEOUT = `${String((FETCH_TIMEOUT_MS - 2_000) / 1000)}s`;
/** About 100,000 pins. */
const LIST_BYTES_MAX = 8 * 1024 * 1024;
/** CIDv0 in base58, CIDv1 in base32, base36 or base58. */
const CID = /^(Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{8,120}|k[0-9a-z]{8,120}|z[1-9A-HJ-NP-Za-km-z]{8,120})$/;
/** `Type` of a link in an `ls` answer (UnixFS): directories are 1 and, when sharded, 5. */
const DIRECTORY_TYPES: readonly unknown[] = [1, 5];

/** Returns true for a text in the form of a CID. */
export function isCid(text: string): boolean {
  return CID.test(text);
}

/** Returns the node's name and version in one line. */
export async function kuboVersion(peer: Peer): Promise<string> {
  const answer = await call(peer, "version", {});
  const version = isRecord(answer) ? answer["Version"] : undefined;
  if (typeof version !== "string") throw answerInvalid(KUBO);
  return `kubo ${version.replace(/[^\x20-\x7e]/g, "").slice(0, 60)}`;
}

/** Adds and pins files; the last one returned is the root. */
export async function kuboAdd(peer: Peer, parts: readonly FilePart[]): Promise<readonly AddedFile[]> {
  const { contentType, byteLength, chunks } = multipartOf(parts);
  const answer = await postStreamed(peer.egress, {
    url: peerUrl(peer, `${API}/add`, [
      ["pin", "true"],
      ["progress", "false"],
    ]),
    headers: { ...authorization(peer.credentials), "content-type": contentType },
    byteLength,
    chunks,
    bytesMax: ADD_BYTES_MAX,
    answerBytesMax: LIST_BYTES_MAX,
    timeoutMs: ADD_TIMEOUT_MS,
    signal: peer.signal,
  });
  accepted(answer);
  const added = linesOf(answer).map(addedFile);
  if (added.length === 0) throw answerInvalid(KUBO);
  return added;
}

/** Returns the content of a file. Throws `not_found`. */
export async function kuboCat(peer: Peer, cid: string, bytesMax: number): Promise<Uint8Array> {
  return accepted(
    await ask(peer, "cat", {
      query: [
        ["arg", `/ipfs/${cid}`],
        ["timeout", KUBO_TIMEOUT],
      ],
      timeoutMs: FETCH_TIMEOUT_MS,
      answerBytesMax: bytesMax,
    }),
  ).body;
}

/** Pins content, fetching it from other nodes where needed. Throws `not_found` when it is not found in time. */
export async function kuboPin(peer: Peer, cid: string): Promise<void> {
  await call(peer, "pin/add", {
    query: [
      ["arg", `/ipfs/${cid}`],
      ["timeout", KUBO_TIMEOUT],
    ],
    timeoutMs: FETCH_TIMEOUT_MS,
  });
}

/** Removes a pin. Throws `not_found` when the content is not pinned. */
export async function kuboUnpin(peer: Peer, cid: string): Promise<void> {
  await call(peer, "pin/rm", { query: [["arg", `/ipfs/${cid}`]] });
}

/** Returns the CIDs of all recursive pins, in a stable order. */
export async function kuboPins(peer: Peer): Promise<readonly string[]> {
  const answer = await call(peer, "pin/ls", {
    query: [["type", "recursive"]],
    timeoutMs: FETCH_TIMEOUT_MS,
    answerBytesMax: LIST_BYTES_MAX,
  });
  const keys = isRecord(answer) ? answer["Keys"] : undefined;
  // A node without pins leaves the member out.
  if (keys === undefined || keys === null) return [];
  if (!isRecord(keys) || !Object.keys(keys).every(isCid)) throw answerInvalid(KUBO);
  return Object.keys(keys).sort();
}

/** Returns type and size of content. Throws `not_found` when the node neither has it nor finds it in time. */
export async function kuboStat(peer: Peer, cid: string): Promise<ObjectStat> {
  const answer = await call(peer, "files/stat", {
    query: [
      ["arg", `/ipfs/${cid}`],
      ["timeout", KUBO_TIMEOUT],
    ],
    timeoutMs: FETCH_TIMEOUT_MS,
  });
  if (!isRecord(answer)) throw answerInvalid(KUBO);
  const { Hash: hash, Size: size, Type: type } = answer;
  if (typeof hash !== "string" || !isSize(size) || (type !== "file" && type !== "directory")) throw answerInvalid(KUBO);
  return { cid: hash, size, type };
}

/** Returns the entries of a directory. */
export async function kuboLinks(peer: Peer, cid: string): Promise<readonly DirectoryLink[]> {
  const answer = await call(peer, "ls", {
    query: [
      ["arg", `/ipfs/${cid}`],
      ["timeout", KUBO_TIMEOUT],
    ],
    timeoutMs: FETCH_TIMEOUT_MS,
    answerBytesMax: LIST_BYTES_MAX,
  });
  const objects: unknown = isRecord(answer) ? answer["Objects"] : undefined;
  const [object] = Array.isArray(objects) ? (objects as readonly unknown[]) : [];
  const links: unknown = isRecord(object) ? object["Links"] : undefined;
  if (!Array.isArray(links)) throw answerInvalid(KUBO);
  return links.map((link: unknown) => {
    if (
      !isRecord(link) ||
      typeof link["Name"] !== "string" ||
      typeof link["Hash"] !== "string" ||
      !isSize(link["Size"])
    )
      throw answerInvalid(KUBO);
    return {
      name: link["Name"],
      cid: link["Hash"],
      size: link["Size"],
      type: DIRECTORY_TYPES.includes(link["Type"]) ? "directory" : "file",
    };
  });
}

async function call(peer: Peer, command: string, request: PeerRequest): Promise<unknown> {
  return jsonOf(accepted(await ask(peer, command, request)), KUBO);
}

async function ask(peer: Peer, command: string, request: PeerRequest): Promise<EgressAnswer> {
  return await askPeer(peer, `${API}/${command}`, { method: "POST", timeoutMs: PEER_TIMEOUT_MS, ...request });
}

/** Returns an answer of 200. Kubo answers failures with 500 and a message; any other status is not from kubo. */
function accepted(answer: EgressAnswer): EgressAnswer {
  if (answer.status === 200) return answer;
  if (answer.status === 401 || answer.status === 403) throw credentialsRejected();
  if (answer.status !== 500 && answer.status !== 400) throw answerInvalid(KUBO);
  const body = jsonOf(answer, KUBO);
  const message = isRecord(body) && typeof body["Message"] === "string" ? body["Message"] : "";
  if (/not pinned|deadline exceeded|not found|no link named|file does not exist/.test(message))
    throw notFound("entity");
  if (/invalid (path|cid)|selected encoding not supported|cid too short/i.test(message)) throw notFound("entity");
  throw new AppError("connector_refused", { message: "the IPFS node refused the request" });
}

function linesOf(answer: EgressAnswer): unknown[] {
  try {
    return new TextDecoder("utf-8", { fatal: true })
      .decode(answer.body)
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => JSON.parse(line) as unknown);
  } catch (error) {
    throw answerInvalid(KUBO, error);
  }
}

function addedFile(line: unknown): AddedFile {
  if (!isRecord(line)) throw answerInvalid(KUBO);
  const { Name: path, Hash: cid, Size: size } = line;
  // The size is a decimal text here, unlike in every other answer.
  if (
    typeof path !== "string" ||
    typeof cid !== "string" ||
    !isCid(cid) ||
    typeof size !== "string" ||
    !/^[0-9]{1,15}$/.test(size)
  )
    throw answerInvalid(KUBO);
  return { path, cid, size: Number(size) };
}

function isSize(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

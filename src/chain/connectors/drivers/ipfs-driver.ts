/**
 * IPFS through kubo's RPC API. Entities are what the node has pinned, named by CID. Content is immutable; only the
 * notes about it can change, which this server stores. With a gateway alone, content can only be read.
 */
import { AppError, assert, notFound } from "../../../platform/errors.js";
import { ENTITY_CONTENT_BYTES_MAX } from "../connector-schemas.js";
import type { EntityContent, EntityDriver, Peer, PeerEntity } from "./driver.js";
import {
  isCid,
  kuboAdd,
  kuboCat,
  kuboLinks,
  kuboPin,
  kuboPins,
  kuboStat,
  kuboUnpin,
  kuboVersion,
  type ObjectStat,
} from "./kubo-client.js";
import type { FilePart } from "./multipart.js";
import { fromEgress, PEER_TIMEOUT_MS, unreachable } from "./peer-failures.js";

/** The identity CID of empty content, which every gateway can answer without another node. */
const EMPTY_CID = "bafkqaaa";
const DIRECTORY_TYPE = "application/x-directory";
/** Questions to the node at a time for one list. */
const STATS_AT_ONCE = 8;

export const ipfsEntities: EntityDriver = {
  keepsNotes: true,
  namesByContent: true,

  list: async (peer, { objects, page }) => {
    requireApi(peer);
    const cids = objects ?? (await kuboPins(peer));
    cids.forEach(requireCid);
    const selected = cids.slice((page.page - 1) * page.rpp, page.page * page.rpp);
    const rows: PeerEntity[] = [];
    for (let from = 0; from < selected.length; from += STATS_AT_ONCE) {
      rows.push(
        ...(await Promise.all(
          selected
            .slice(from, from + STATS_AT_ONCE)
            .map(async (cid) => ({ ...entityOf(peer, await kuboStat(peer, cid)), id: cid, hash: cid })),
        )),
      );
    }
    return { rows, total: cids.length };
  },

  create: async (peer, content) => {
    requireApi(peer);
    const { hash } = content.input;
    if (hash !== undefined && hash !== null) return await pin(peer, hash);
    const parts = partsOf(content);
    const added = await kuboAdd(peer, parts);
    // Files come before the directory that holds them; the root comes last.
    const root = added.at(-1);
    assert(root !== undefined, "an add answers at least one file");
    const { bytes } = content;
    return {
      id: root.cid,
      hash: root.cid,
      ...hrefOf(peer, root.cid),
      size: bytes === undefined ? root.size : bytes.length,
      ...(bytes === undefined
        ? {
            type: DIRECTORY_TYPE,
            children: added.slice(0, -1).map(({ path, cid, size }) => ({
              id: cid,
              name: path.slice(path.indexOf("/") + 1),
              hash: cid,
              size,
              type: null,
            })),
          }
        : {}),
    };
  },

  get: async (peer, id) => {
    requireCid(id);
    if (peer.addresses.api === undefined) return await fromGateway(peer, id);
    const stat = await kuboStat(peer, id);
    if (stat.type === "directory") {
      const links = await kuboLinks(peer, id);
      return {
        ...entityOf(peer, stat),
        id,
        children: links.map(({ name, cid, size, type }) => ({
          id: cid,
          name,
          hash: cid,
          size,
          type: type === "directory" ? DIRECTORY_TYPE : null,
        })),
      };
    }
    const content =
      stat.size <= ENTITY_CONTENT_BYTES_MAX ? await kuboCat(peer, id, ENTITY_CONTENT_BYTES_MAX) : undefined;
    return { ...entityOf(peer, stat), id, ...(content === undefined ? {} : { content }) };
  },

  /** Makes sure that the content is pinned; all other changes are to the note. */
  update: async (peer, id, { bytes, children, input }) => {
    requireApi(peer);
    if (
      bytes !== undefined ||
      children.length > 0 ||
      (input.hash !== undefined && input.hash !== null && input.hash !== id)
    ) {
      throw new AppError("connector_unsupported", {
        message: "content in IPFS is named by its hash and cannot change; create another entity",
      });
    }
    await pin(peer, id);
  },

  remove: async (peer, id) => {
    requireApi(peer);
    requireCid(id);
    await kuboUnpin(peer, id);
  },
};

/** Asks the node for its version, or a gateway for empty content, where any status below 500 counts as alive. */
export async function probeIpfs(peer: Peer): Promise<string | undefined> {
  return peer.addresses.api === undefined ? await probeGateway(peer) : await kuboVersion(peer);
}

async function pin(peer: Peer, cid: string): Promise<PeerEntity> {
  requireCid(cid);
  await kuboPin(peer, cid);
  return { ...entityOf(peer, await kuboStat(peer, cid)), id: cid };
}

function partsOf({ input, bytes, children }: EntityContent): readonly FilePart[] {
  if (bytes !== undefined) return [{ path: input.filename ?? input.name?.replaceAll("/", "_") ?? "file", bytes }];
  if (children.length === 0)
    throw new AppError("connector_config_invalid", {
      message: "an entity of IPFS needs data_url, raw, children or hash",
    });
  const folder = input.filename ?? "folder";
  return [
    { path: folder },
    ...children.map(({ filename, bytes: content }) => ({ path: `${folder}/${filename}`, bytes: content })),
  ];
}

function entityOf(peer: Peer, { cid, size, type }: ObjectStat): PeerEntity {
  return { id: cid, hash: cid, size, ...hrefOf(peer, cid), ...(type === "directory" ? { type: DIRECTORY_TYPE } : {}) };
}

function hrefOf({ addresses }: Peer, cid: string): { href?: string } {
  return addresses.gateway === undefined ? {} : { href: `${addresses.gateway}/ipfs/${cid}` };
}

async function fromGateway(peer: Peer, cid: string): Promise<PeerEntity> {
  const { gateway } = peer.addresses;
  if (gateway === undefined) throw notReady();
  const url = `${gateway}/ipfs/${cid}`;
  try {
    const { status, headers, body } = await peer.egress.fetch(url, {
      timeoutMs: PEER_TIMEOUT_MS * 2,
      answerBytesMax: ENTITY_CONTENT_BYTES_MAX,
      signal: peer.signal,
    });
    if (status === 404 || status === 410 || status === 504) throw notFound("entity");
    if (status !== 200) throw new AppError("connector_refused", { message: `the gateway answered ${String(status)}` });
    const type = headers["content-type"]?.split(";")[0]?.trim();
    return { id: cid, hash: cid, href: url, size: body.length, content: body, ...(type === undefined ? {} : { type }) };
  } catch (error) {
    throw fromEgress(error);
  }
}

async function probeGateway(peer: Peer): Promise<string | undefined> {
  const { gateway } = peer.addresses;
  if (gateway === undefined) throw notReady();
  try {
    const { status } = await peer.egress.fetch(`${gateway}/ipfs/${EMPTY_CID}`, {
      timeoutMs: PEER_TIMEOUT_MS,
      signal: peer.signal,
    });
    if (status >= 500) throw unreachable();
    return "IPFS gateway";
  } catch (error) {
    throw fromEgress(error);
  }
}

function requireCid(text: string): void {
  // A text that is no CID names nothing that the node could have.
  if (!isCid(text)) throw new AppError("not_found", { message: "entity not found: not a CID" });
}

function requireApi({ addresses }: Peer): void {
  if (addresses.api !== undefined) return;
  if (addresses.gateway === undefined) throw notReady();
  throw new AppError("connector_unsupported", {
    message: "a gateway only reads; the connector names no rpc_url or api_url",
  });
}

function notReady(): AppError {
  return new AppError("connector_not_ready", { message: "the connector has no address to be asked at" });
}

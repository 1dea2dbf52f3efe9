/**
 * Entities of a REST service: the objects of one collection. `config.entities_path` names the collection (by default
 * `/`); objects are JSON at `<collection>/<id>`.
 */
import { AppError, notFound } from "../../../platform/errors.js";
import type { EgressAnswer } from "../../../platform/net/egress.js";
import type { EntityContent, EntityDriver, Peer, PeerEntity } from "./driver.js";
import { askPeer, isRecord, jsonOf, peerUrl, type PeerRequest } from "./http-peer.js";
import { answerInvalid } from "./peer-failures.js";

const SERVICE = "a REST service";

export const restEntities: EntityDriver = {
  keepsNotes: false,
  namesByContent: false,

  list: async (peer, { objects, page }) => {
    if (objects !== undefined) {
      const rows = await Promise.all(objects.slice(0, page.rpp).map(async (id) => await restEntities.get(peer, id)));
      return { rows, total: objects.length };
    }
    const answer = accepted(
      await askPeer(peer, collection(peer), {
        query: [
          ["page", String(page.page)],
          ["rpp", String(page.rpp)],
        ],
      }),
    );
    const parsed = jsonOf(answer, SERVICE);
    const found: unknown = isRecord(parsed) ? parsed["data"] : parsed;
    if (!Array.isArray(found)) throw answerInvalid(SERVICE);
    const rows = found.map((object: unknown) => entityOf(peer, object));
    const total = Number(answer.headers["x-total-results-count"] ?? answer.headers["x-total-count"] ?? Number.NaN);
    // A service without paging answers all objects at once.
    const paged = rows.length > page.rpp ? rows.slice((page.page - 1) * page.rpp, page.page * page.rpp) : rows;
    return { rows: paged, total: Number.isSafeInteger(total) && total >= 0 ? total : rows.length };
  },

  create: async (peer, content) =>
    entityOf(
      peer,
      jsonOf(accepted(await askPeer(peer, collection(peer), { method: "POST", ...bodyOf(content) })), SERVICE),
    ),
  get: async (peer, id) => entityOf(peer, jsonOf(accepted(await askPeer(peer, objectPath(peer, id))), SERVICE)),
  update: async (peer, id, content) => {
    accepted(await askPeer(peer, objectPath(peer, id), { method: "PUT", ...bodyOf(content) }));
  },
  remove: async (peer, id) => {
    accepted(await askPeer(peer, objectPath(peer, id), { method: "DELETE" }));
  },
};

function collection(peer: Peer): string {
  return (peer.config.entities_path ?? "").replace(/\/+$/, "");
}

function objectPath(peer: Peer, id: string): string {
  return `${collection(peer)}/${encodeURIComponent(id)}`;
}

/** Returns the body of a request: content as it is, or the metadata as the object. */
function bodyOf({ input, bytes, mediaType }: EntityContent): Pick<PeerRequest, "json" | "body"> {
  if (bytes !== undefined) return { body: { contentType: mediaType ?? "application/octet-stream", bytes } };
  const { name, filename, type, source, parent, metadata } = input;
  const named = Object.entries({ name, filename, type, source, parent }).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return { json: { ...Object.fromEntries(named), ...(metadata ?? {}) } };
}

function accepted(answer: EgressAnswer): EgressAnswer {
  if (answer.status >= 200 && answer.status < 300) return answer;
  if (answer.status === 404) throw notFound("entity");
  throw new AppError("connector_refused", { message: `the peer answered ${String(answer.status)}` });
}

function entityOf(peer: Peer, object: unknown): PeerEntity {
  if (!isRecord(object)) throw answerInvalid(SERVICE);
  const { id, name, type } = object;
  if ((typeof id !== "string" && typeof id !== "number") || String(id) === "") throw answerInvalid(SERVICE);
  return {
    id: String(id),
    href: peerUrl(peer, objectPath(peer, String(id))),
    metadata: object,
    ...(typeof name === "string" ? { name } : {}),
    ...(typeof type === "string" ? { type } : {}),
  };
}

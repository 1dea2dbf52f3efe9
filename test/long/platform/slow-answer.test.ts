/** The answer to a file whose handler takes longer than the HTTP library waits on an idle connection. */
import { setTimeout as pause } from "node:timers/promises";
import Type from "typebox";
import { expect, it } from "vitest";
import { bindRoutes, defineRoute, type HandlersFor } from "../../../src/platform/contract/route.js";
import { UWS_KEEP_ALIVE_SEC } from "../../../src/platform/http/drivers/uws.js";
import { BEARER, startFront } from "../../platform/http/support.js";

const routes = {
  takeFile: defineRoute({
    id: "takeFile",
    area: "prover",
    method: "PUT",
    path: "/api/v1/file",
    summary: "Take a file",
    auth: { permissions: ["create"] },
    streamedBody: true,
    bodyBytesMax: 4_194_304,
    deadlineMs: 120_000,
    responses: { 201: { description: "How many bytes came", schema: Type.Integer() } },
  }),
} as const;

const handlers: HandlersFor<typeof routes> = {
  takeFile: async ({ body }) => {
    let read = 0;
    for await (const chunk of body.chunks) read += chunk.length;
    // The library looks at its timers every four seconds.
    await pause((UWS_KEEP_ALIVE_SEC + 5) * 1000);
    return { status: 201, body: read };
  },
};

it.each([100, 1_000_000])("comes after %i bytes were taken and worked on for longer", async (bytes) => {
  const front = await startFront({ routes: bindRoutes(routes, handlers) });
  try {
    const answer = await fetch(`${front.url}/api/v1/file`, {
      ...{ method: "PUT", headers: BEARER, body: new Uint8Array(bytes) },
    });
    expect([answer.status, await answer.json()]).toEqual([201, bytes]);
  } finally {
    await front.server.stop({ graceMs: 0 });
  }
});

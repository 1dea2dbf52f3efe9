/** Work on an uploaded file that takes longer than the library lets a connection be idle: its sender gets the answer. */
import { setTimeout as sleep } from "node:timers/promises";
import Type from "typebox";
import { expect, it } from "vitest";
import { bindRoutes, defineRoute } from "../../../src/platform/contract/route.js";
import { startFront } from "../../platform/http/support.js";

/** More than uWebSockets.js' 10 s, with its timer's grain of 4 s. */
const WORK_MS = 16_000;

const routes = {
  takeFile: defineRoute({
    id: "takeFile",
    area: "prover",
    method: "PUT",
    path: "/api/v1/file",
    summary: "Take a file",
    auth: "public",
    streamedBody: true,
    bodyBytesMax: 1 << 24,
    deadlineMs: 60_000,
    responses: { 200: { description: "Its length", schema: Type.Object({ bytes: Type.Integer() }) } },
  }),
} as const;

it("answers a file that came with its head, and one that came in many packets", async () => {
  const { server, url } = await startFront({
    routes: bindRoutes(routes, {
      takeFile: async ({ body }) => {
        let bytes = 0;
        for await (const chunk of body.chunks) bytes += chunk.length;
        await sleep(WORK_MS);
        return { status: 200, body: { bytes } };
      },
    }),
  });
  try {
    const answers = await Promise.all(
      [100, 3_000, 1 << 20].map(async (length) => {
        const response = await fetch(`${url}/api/v1/file`, { method: "PUT", body: new Uint8Array(length) });
        return (await response.json()) as unknown;
      }),
    );
    expect(answers).toEqual([100, 3_000, 1 << 20].map((bytes) => ({ bytes })));
  } finally {
    await server.stop({ graceMs: 0 });
  }
});

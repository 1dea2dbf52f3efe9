/** The page on which people contribute to ceremonies. Public: what it does takes a participant's token. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import { closed } from "../../platform/contract/schemas.js";

/** As the build names them. */
const SCRIPTS = ["page.js", "contribute.js", "points.js"] as const;

export const ceremonyPageRoutes = {
  getCeremonyPage: defineRoute({
    id: "getCeremonyPage",
    area: "prover",
    method: "GET",
    path: "/ceremony",
    summary: "Contribute to a ceremony in a browser",
    auth: "public",
    description:
      "The page for `/ceremony#id=ID`, or `/ceremony#id=ID&invitation=TOKEN`. The contribution is made in the browser.",
    responses: { 200: { description: "The page", bytes: "text/html; charset=UTF-8" } },
  }),
  getCeremonyScript: defineRoute({
    id: "getCeremonyScript",
    area: "prover",
    method: "GET",
    path: "/ceremony/:name",
    summary: "A script of the ceremonies' page",
    auth: "public",
    params: closed({ name: Type.Enum([...SCRIPTS]) }),
    responses: { 200: { description: "The script", bytes: "text/javascript; charset=UTF-8" } },
    errors: ["not_found"],
  }),
} as const;

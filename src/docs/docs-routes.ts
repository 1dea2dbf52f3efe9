/** The documentation: a page with the reference of the API, and guides. */
import Type from "typebox";
import { defineRoute } from "../platform/contract/route.js";
import { closed } from "../platform/contract/schemas.js";

const byHash = closed({ hash: Type.String({ pattern: "^[A-Za-z0-9]{1,16}$" }) });

export const docsRoutes = {
  getDocs: defineRoute({
    id: "getDocs",
    area: "service",
    method: "GET",
    path: "/docs",
    summary: "The reference of this API as a page",
    auth: "public",
    description: "Shows the document at /openapi.json, with samples, and sends requests with your token.",
    responses: { 200: { description: "The page", bytes: "text/html; charset=UTF-8", fixed: true } },
    errors: ["not_found"],
  }),
  getDocsScript: defineRoute({
    id: "getDocsScript",
    area: "service",
    method: "GET",
    path: "/docs/script/:hash",
    summary: "A script of the reference",
    auth: "public",
    params: byHash,
    responses: { 200: { description: "The script", bytes: "text/javascript; charset=UTF-8", fixed: true } },
    errors: ["not_found"],
  }),
  getDocsStyle: defineRoute({
    id: "getDocsStyle",
    area: "service",
    method: "GET",
    path: "/docs/style/:hash",
    summary: "A style of the documentation",
    auth: "public",
    params: byHash,
    responses: { 200: { description: "The style", bytes: "text/css; charset=UTF-8", fixed: true } },
    errors: ["not_found"],
  }),
  getGuides: defineRoute({
    id: "getGuides",
    area: "service",
    method: "GET",
    path: "/docs/guides",
    summary: "The list of guides as a page",
    auth: "public",
    responses: { 200: { description: "The page", bytes: "text/html; charset=UTF-8", fixed: true } },
    errors: ["not_found"],
  }),
  getGuide: defineRoute({
    id: "getGuide",
    area: "service",
    method: "GET",
    path: "/docs/guides/:guide",
    summary: "A guide as a page",
    auth: "public",
    params: closed({ guide: Type.String({ pattern: "^[a-z][a-z-]{0,39}$" }) }),
    responses: { 200: { description: "The page", bytes: "text/html; charset=UTF-8", fixed: true } },
    errors: ["not_found"],
  }),
} as const;

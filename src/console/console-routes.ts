/** The console: a page that runs in the browser and calls the routes of the API as any other client does. */
import Type from "typebox";
import { defineRoute } from "../platform/contract/route.js";
import { closed } from "../platform/contract/schemas.js";

export const consoleRoutes = {
  getConsole: defineRoute({
    id: "getConsole",
    area: "service",
    method: "GET",
    path: "/",
    summary: "The console",
    auth: "public",
    description: "The page on which people use this server in a browser. It calls nothing but this API.",
    // A login comes back to this address with its code or error (RFC 6749 section 4.1.2); the page reads them.
    query: Type.Object({}, { additionalProperties: true }),
    responses: { 200: { description: "The page", bytes: "text/html; charset=UTF-8", fixed: true } },
    errors: ["not_found"],
  }),
  getConsoleScript: defineRoute({
    id: "getConsoleScript",
    area: "service",
    method: "GET",
    path: "/console/script/:hash",
    summary: "The script of the console",
    auth: "public",
    params: closed({ hash: Type.String({ pattern: "^[A-Z0-9]{1,16}$" }) }),
    responses: { 200: { description: "The script", bytes: "text/javascript; charset=UTF-8", fixed: true } },
    errors: ["not_found"],
  }),
  getConsoleStyle: defineRoute({
    id: "getConsoleStyle",
    area: "service",
    method: "GET",
    path: "/console/style/:hash",
    summary: "The style of the console",
    auth: "public",
    params: closed({ hash: Type.String({ pattern: "^[A-Z0-9]{1,16}$" }) }),
    responses: { 200: { description: "The style", bytes: "text/css; charset=UTF-8", fixed: true } },
    errors: ["not_found"],
  }),
} as const;

/** The operator's legal documents: the server names where they are and keeps no text of them. */
import type { Static } from "typebox";
import type { LegalDocument } from "./oauth-schemas.js";

/** Addresses of the documents, as far as the operator gave them. */
export interface LegalLinks {
  readonly privacy_policy?: string | undefined;
  readonly terms_of_service?: string | undefined;
}

/** Returns the answer for a document: its address, never its content. */
export function legalDocument(links: LegalLinks, name: keyof LegalLinks): Static<typeof LegalDocument> {
  return { content: null, href: links[name] ?? null };
}

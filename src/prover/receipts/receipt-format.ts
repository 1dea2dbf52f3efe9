/** The format of receipts as a JSON Schema for readers: served, and kept in the tree as receipt.schema.json. */
import { publishedForm } from "../../platform/contract/schemas.js";
import { ReceiptClaims, RECEIPT_TYPE } from "./receipt-schemas.js";

/** Returns the schema of a receipt's claims, JSON Schema 2020-12, as text. */
export function receiptSchemaText(): string {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Proofwright receipt, version 1",
    $comment: `The payload of a compact JWS whose header has typ ${RECEIPT_TYPE}, alg EdDSA and the kid of a key of the prover's jwks.json.`,
    ...publishedForm(ReceiptClaims),
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

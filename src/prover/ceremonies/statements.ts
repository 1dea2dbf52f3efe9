/** What contributors sign of their contributions, and the check of their signatures. */
import { AppError } from "../../platform/errors.js";
import { findStatementFault } from "../../crypto/signatures/signed-statement.js";
import type { StoredCeremony, StoredContribution } from "./ceremony-records.js";
import type { Statement, StatementBody } from "./ceremony-schemas.js";

/**
 * Returns the text that a contributor signs: it names the ceremony, the circuit and the contribution, so that it fits
 * no other. One line each, with a line feed behind all but the last one.
 */
export function statementText(
  { id, circuit_hash }: Pick<StoredCeremony, "id" | "circuit_hash">,
  { index, hash, name }: Pick<StoredContribution, "index" | "hash" | "name">,
): string {
  return [
    "I contributed to a Groth16 ceremony and have destroyed what I drew for it.",
    `ceremony: ${id}`,
    `circuit: ${circuit_hash ?? ""}`,
    `contribution: ${String(index)}`,
    `hash: ${hash}`,
    `name: ${name}`,
  ].join("\n");
}

/**
 * Returns a statement with what it signs, after verifying its signature.
 * @throws AppError `statement_invalid`
 */
export function verifiedStatement(body: StatementBody, text: string): Statement {
  const fault = findStatementFault(body, text);
  if (fault !== undefined) throw new AppError("statement_invalid", { message: fault });
  return { ...body, text };
}

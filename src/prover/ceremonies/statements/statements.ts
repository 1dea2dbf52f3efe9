/** What contributors sign of their contributions, and the check of their signatures. */
import { findStatementFault } from "../../../crypto/signatures/signed-statement.js";
import { contributionStatement } from "../../../engine/groth16/ceremony/contribution-statement.js";
import { AppError } from "../../../platform/errors.js";
import type { StoredCeremony, StoredContribution } from "../ceremony-records.js";
import type { Statement, StatementBody } from "../ceremony-schemas.js";

/** Returns the text that a contributor signs. */
export function statementText(
  { id: ceremonyId, circuit_hash }: Pick<StoredCeremony, "id" | "circuit_hash">,
  { index, hash, name: contributor }: Pick<StoredContribution, "index" | "hash" | "name">,
): string {
  return contributionStatement({ ceremonyId, circuitHash: circuit_hash ?? "", index, hash, contributor });
}

/** Returns who a statement's signer is said to be on GitHub; undefined where nothing is said. */
export function githubClaimOf(
  body: StatementBody,
): { readonly github: string; readonly public_key: string } | undefined {
  if (body.kind !== "ssh" || body.github === undefined || body.github === null) return undefined;
  return { github: body.github, public_key: body.public_key };
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

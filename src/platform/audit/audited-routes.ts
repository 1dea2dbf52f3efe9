/**
 * Which routes are recorded, and the wrapper around their handlers that records them. The rule: a request that changes
 * something or reveals a secret is recorded on disk before it is answered. The exceptions are listed by name; those
 * that are `deferred` are answered before the record is on disk.
 */
import { formatSubject, type Principal } from "../auth/principal.js";
import type { AnyReply, BoundRoute, RouteSpec } from "../contract/route.js";
import type { AuditPort } from "./audit-log.js";
import { auditedPart, type AuditContext, type AuditMode, type AuditTrail } from "./audit-trail.js";

const AUDITED_AREAS: ReadonlySet<string> = new Set(["vault", "identity"]);

/**
 * Exceptions from the rule, by operation id. A test compares them with the list of routes. `prove` has no row: one
 * whose inputs name secrets or keys records by itself which, before the vault gives them (prover/closed-inputs).
 */
export const AUDIT_MODES: Readonly<Record<string, AuditMode | "none">> = {
  // Reads that reveal a secret, or from which others can be found (the key tree below an xpub).
  getSecret: "durable",
  getOrganizationVaultSecret: "durable",
  getXpub: "durable",
  // The caller has the plaintext already: recorded, but the answer does not wait for the disk.
  encrypt: "deferred",
  // Public operations over public values.
  verifySignature: "none",
  verifyDetached: "none",
  verifyWithOrganizationVaultKey: "none",
  // Describes a token that the caller holds.
  introspectToken: "none",
  blsAggregate: "none",
  blsVerify: "none",
  // Routes of other areas that create or delete vaults.
  createProver: "durable",
  createAccount: "durable",
  createWallet: "durable",
  // They spend with a key of the vault; the transaction's own record is durable before the answer.
  createTransaction: "deferred",
  bumpTransaction: "deferred",
  cancelTransaction: "deferred",
  createVerifier: "deferred",
  checkVerifier: "deferred",
  createVerifierRegistry: "deferred",
  deleteProver: "durable",
  createProverInputKey: "durable",
  leaveSharedProver: "durable",
  // Makes the key that signs, when it is first needed.
  getStoreHead: "durable",
  // They decide who may use what another owns.
  createProverGrant: "durable",
  deleteProverGrant: "durable",
  // They make and end keys that sign for a prover.
  rotateReceiptKey: "durable",
  revokeReceiptKey: "durable",
  // They show a secret, keep one in a vault, or decide where the owner's events go.
  createWebhook: "durable",
  updateWebhook: "durable",
  rotateWebhookSecret: "durable",
  deleteWebhook: "durable",
  // They decide who makes the keys of a prover, and are what its ceremony is made of.
  updateCeremony: "durable",
  createCeremonyInvitation: "durable",
  deleteCeremonyInvitation: "durable",
  removeCeremonyParticipant: "durable",
  endCeremony: "durable",
  cancelCeremony: "durable",
  joinCeremony: "durable",
  leaveCeremony: "durable",
  leaseCeremony: "durable",
  contributeToCeremony: "durable",
  signContribution: "durable",
};

/**
 * Routes that use keys and secrets and change no audited record, by operation id. A test compares them with what they
 * commit.
 */
export const USES: ReadonlySet<string> = new Set([
  "signMessage",
  "signWithOrganizationVaultKey",
  "encrypt",
  "decrypt",
  "agree",
  "getSecret",
  "getOrganizationVaultSecret",
  "getXpub",
]);

/** Returns how a route is recorded. */
export function auditModeOf(route: RouteSpec): AuditMode | "none" {
  const exception = AUDIT_MODES[route.id];
  if (exception !== undefined) return exception;
  return AUDITED_AREAS.has(route.area) && route.method !== "GET" ? "durable" : "none";
}

interface RequestView {
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly principal?: Principal;
  readonly requestId: string;
  readonly address: string;
}

/** Returns the routes with recording: the handlers of recorded routes run in the scope of the audit trail. */
export function auditedRoutes(
  bound: readonly BoundRoute[],
  dependencies: { readonly trail: AuditTrail; readonly audit: AuditPort },
): BoundRoute[] {
  return bound.map((each) => {
    const { route, handler } = each;
    const mode = auditModeOf(route);
    if (mode === "none") return each;
    const { trail, audit } = dependencies;
    const recorded = USES.has(route.id) ? trail.runUse.bind(trail) : trail.run.bind(trail);
    return {
      ...each,
      handler: (request: RequestView) =>
        recorded(contextOf(route, request, audit), mode, { work: () => handler(request as never), discard: wipe }),
    };
  });
}

/** Overwrites an answer that could not be recorded and is not sent: its bytes may hold a secret. */
function wipe({ bytes }: AnyReply): void {
  bytes?.fill(0);
}

function contextOf(
  route: RouteSpec,
  { principal, params, body, requestId, address }: RequestView,
  audit: AuditPort,
): AuditContext {
  return {
    action: route.id,
    ...(principal === undefined ? undefined : callerOf(principal)),
    request_id: requestId,
    address,
    ...targetOf(params, audit),
    ...bodyParts(body, audit),
  };
}

function callerOf({
  subject,
  sessionId,
  actingUserId,
}: Principal): Pick<AuditContext, "subject" | "session_id" | "acting_user_id"> {
  const caller = { subject: formatSubject(subject), session_id: sessionId };
  return actingUserId === undefined ? caller : { ...caller, acting_user_id: actingUserId };
}

function targetOf(params: RequestView["params"], audit: AuditPort): Pick<AuditContext, "target"> | undefined {
  const target: Record<string, string> = {};
  let isEmpty = true;
  for (const name in params) {
    target[name] = auditedPart(params[name] ?? "", audit);
    isEmpty = false;
  }
  return isEmpty ? undefined : { target };
}

/** Returns what is recorded of a body: hashes of the members that name something, and the size of a batch. */
function bodyParts(body: unknown, audit: AuditPort): Pick<AuditContext, "names" | "count"> | undefined {
  if (typeof body !== "object" || body === null || ArrayBuffer.isView(body)) return undefined;
  const { name, email, batch } = body as {
    readonly name?: unknown;
    readonly email?: unknown;
    readonly batch?: unknown;
  };
  if (name === undefined && email === undefined && batch === undefined) return undefined;
  const names = {
    ...(typeof name === "string" ? { name: audit.hashName(name) } : {}),
    ...(typeof email === "string" ? { email: audit.hashName(email.trim()) } : {}),
  };
  return {
    ...(Object.keys(names).length === 0 ? {} : { names }),
    ...(Array.isArray(batch) ? { count: batch.length } : {}),
  };
}

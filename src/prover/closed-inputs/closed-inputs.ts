/**
 * Inputs that the main thread never reads: a token encrypted to a key of the prover's vault, and references to secrets
 * and keys of the caller's vaults. It checks who may use them and records what was used; the vault's thread opens them
 * and seals them to the proving thread, when that one asks.
 */
import { randomUUID } from "node:crypto";
import { distinctReferences, findReferences, type VaultReference } from "../../engine/closed/vault-references.js";
import { answerWithBoxes } from "../../engine/process/closed-channel.js";
import type { ClosedInputs as ClosedMessage } from "../../engine/protocol.js";
import type { AuditEvent } from "../../platform/audit/audit-event.js";
import { permissionBits, permissionNames, type PermissionName } from "../../platform/auth/permissions.js";
import { formatSubject, type Principal, type Subject } from "../../platform/auth/principal.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import type { HandedValue, HandedValues } from "../../vault/handed-values.js";
import { readToken, TOKEN_MEMBER, type ReadToken } from "./read-token.js";

interface ClosedInputsDependencies {
  readonly vault: Pick<HandedValues, "require" | "handOver">;
  /** Records a use of the vault; resolves when it is on disk. */
  readonly recordUse: (event: AuditEvent) => Promise<void>;
}

/** Who asks, and what the record of it says. */
interface Asked {
  readonly principal: Principal;
  readonly requestId: string;
  readonly address: string;
}

/** The prover that the inputs are for. */
interface ForProver {
  readonly prover: { readonly id: string; readonly vault_id: string; readonly build: { readonly owner: Subject } };
  readonly isOwner: boolean;
}

/** Closed inputs of one request. */
export interface ClosedRequest {
  /** Whether some of the inputs, or all, came encrypted. */
  readonly isToken: boolean;
  /** What they name, for checks against the circuit. */
  readonly references: readonly VaultReference[];
  /**
   * Checks that what they name can be used, and begins to answer the thread that proves.
   * @throws AppError `not_found`, `deletion_planned`, `key_disabled`, `spec_cannot_sign`, `vault_sealed`
   */
  readonly begin: (given: ForProver) => Promise<ClosedWork>;
}

/** Closed inputs while a proof is made with them. */
export interface ClosedWork {
  readonly message: ClosedMessage;
  /** Why the thread got no values, if it got none. */
  readonly failure: () => AppError | undefined;
  /** Answers nobody any more. */
  readonly end: () => void;
}

/** A value, and whose it is. */
interface Use {
  readonly owner: Subject;
  readonly value: HandedValue;
}

const NEEDED: Readonly<Record<VaultReference["kind"], PermissionName>> = {
  secret: "secret_read",
  signature: "vault_use",
};

export class ClosedInputs {
  readonly #with: ClosedInputsDependencies;

  constructor(dependencies: ClosedInputsDependencies) {
    this.#with = dependencies;
  }

  /**
   * Returns the closed inputs of a body; undefined where it has none.
   * @param body its `witness` as parsed JSON, `witness_jwe` as the caller sent it
   * @throws AppError `invalid_request`, `witness_invalid` for what is malformed, `forbidden` where the caller could not
   *   read the secret or sign with the key itself
   */
  read(
    asked: Asked,
    proverId: string,
    body: { readonly witness?: unknown; readonly witness_jwe?: string | undefined },
  ): ClosedRequest | undefined {
    const token = body.witness_jwe === undefined ? undefined : readToken(body.witness_jwe, proverId);
    const found = findReferences({ inputs: body.witness });
    if (!found.ok)
      throw new AppError("witness_invalid", {
        message: found.details[0]?.message ?? "the inputs name values of vaults in a wrong form",
        details: found.details,
      });
    const { references } = found;
    if (token === undefined && references.length === 0) return undefined;
    requirePermissions(asked.principal, references);
    return this.#request(asked, token, references);
  }

  /** The token's key comes first, then the values in their order, as the proving thread takes them. */
  #request(asked: Asked, token: ReadToken | undefined, references: readonly VaultReference[]): ClosedRequest {
    return {
      isToken: token !== undefined,
      references,
      begin: async ({ prover, isOwner }) => {
        const own = isOwner ? prover.vault_id : undefined;
        const uses = [
          ...(token === undefined ? [] : [keyUseOf(token, prover)]),
          ...distinctReferences(references).map((reference) => useOf(asked.principal, reference, own)),
        ];
        const message = token === undefined ? {} : { encrypted: token.content };
        return await this.#begin({ asked, proverId: prover.id, uses }, message);
      },
    };
  }

  async #begin(work: Work, message: Omit<ClosedMessage, "channel">): Promise<ClosedWork> {
    await this.#recorded(work, async () => {
      for (const { owner, value } of work.uses) this.#require(owner, value);
      await Promise.resolve();
    });
    let failure: AppError | undefined;
    const channel = `proofwright-closed-${randomUUID()}`;
    const end = answerWithBoxes(channel, async (to) => {
      try {
        return await this.#recorded(work, async () => await this.#handOver(work, to));
      } catch (error) {
        failure = error instanceof AppError ? error : internal(error);
        return undefined;
      }
    });
    return { message: { ...message, channel }, failure: () => failure, end };
  }

  /** The use is on disk before anything leaves the vault. Rights and records may have changed since the request. */
  async #handOver(work: Work, to: Uint8Array): Promise<readonly Uint8Array[]> {
    for (const { owner, value } of work.uses) this.#require(owner, value);
    await this.#with.recordUse({ ...eventOf(work), outcome: "ok" });
    return await Promise.all(
      work.uses.map(async ({ owner, value }) => await this.#with.vault.handOver(owner, value, to)),
    );
  }

  /** Records what was refused. */
  async #recorded<T>(work: Work, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      const code = error instanceof AppError ? error.code : "internal_error";
      if (code !== "audit_unavailable") await this.#with.recordUse({ ...eventOf(work), outcome: "refused", code });
      throw error;
    }
  }

  #require(owner: Subject, value: HandedValue): void {
    try {
      this.#with.vault.require(owner, value);
    } catch (error) {
      // The prover's keys are public: who asks learns nothing, and is told which member is wrong.
      const isUnknown = error instanceof AppError && ["not_found", "spec_cannot_decrypt"].includes(error.code);
      if (value.kind === "content_key" && isUnknown)
        throw invalidMember(TOKEN_MEMBER, `${TOKEN_MEMBER}: \`kid\` of its header names no input key of this prover`);
      if (value.kind === "content_key" && error instanceof AppError && error.code === "key_type_mismatch")
        throw invalidMember(TOKEN_MEMBER, `${TOKEN_MEMBER}: \`epk\` of its header is not on the curve of its \`kid\``);
      throw error;
    }
  }
}

interface Work {
  readonly asked: Asked;
  readonly proverId: string;
  readonly uses: readonly Use[];
}

/** The key is the prover owner's, whoever sends the token. */
function keyUseOf({ keyId, agreement }: ReadToken, { vault_id: vaultId, build }: ForProver["prover"]): Use {
  return { owner: build.owner, value: { kind: "content_key", vaultId, id: keyId, header: agreement } };
}

function useOf({ subject }: Principal, reference: VaultReference, proverVault: string | undefined): Use {
  const { kind, id, path } = reference;
  const vaultId = reference.vaultId ?? proverVault;
  if (vaultId === undefined)
    throw invalidMember(path, `${path}: name the vault with vault_id, as the prover's own is another's`);
  return {
    owner: subject,
    value: kind === "secret" ? { kind, vaultId, id } : { kind, vaultId, id, message: reference.message },
  };
}

/** Whoever lets a proof use it could compute with it as well, so that the same right is needed. */
function requirePermissions({ permissions }: Principal, references: readonly VaultReference[]): void {
  const missing = permissionBits([...new Set(references.map(({ kind }) => NEEDED[kind]))]) & ~permissions;
  if (missing !== 0)
    throw new AppError("forbidden", {
      message: `inputs that name values of vaults need the permissions ${permissionNames(missing).join(", ")}`,
    });
}

function eventOf({ asked, proverId, uses }: Work): Omit<AuditEvent, "outcome"> {
  const { principal, requestId, address } = asked;
  const { subject, sessionId, actingUserId } = principal;
  return {
    action: "prove",
    subject: formatSubject(subject),
    session_id: sessionId,
    ...(actingUserId === undefined ? {} : { acting_user_id: actingUserId }),
    request_id: requestId,
    address,
    target: { id: proverId },
    detail: {
      uses: uses.map(({ value }) => `${value.kind === "secret" ? "secret" : "key"}/${value.vaultId}/${value.id}`),
    },
  };
}

function internal(cause: unknown): AppError {
  return new AppError("internal_error", { message: "the closed inputs could not be opened", cause });
}

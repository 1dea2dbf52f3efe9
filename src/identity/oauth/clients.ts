/**
 * The OAuth client of an application: the addresses to which codes may be sent, its secret (256 random bits, returned
 * once, stored as SHA-256, replaced with an overlap) and its public keys. Members that may update and grant on the
 * application change it.
 */
import { createPublicKey } from "node:crypto";
import { PERMISSIONS, TENANT_PERMISSIONS } from "../../platform/auth/permissions.js";
import { createOpaqueToken, opaqueTokenHash, sameHash } from "../../platform/auth/opaque-token.js";
import { formatSubject, type Principal } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { invalidMember, type AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { Store, StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import { tenantNotFound, type TenantAccess } from "../tenants/tenant-access.js";
import type { SigningAlgorithm } from "../../platform/auth/verification-key.js";
import type { ClientJson, ClientKeyJson, ClientSecretJson, UpdateClientInput } from "./client-schemas.js";
import type { IdentityRepository } from "../repository.js";
import type { Sessions } from "../tokens/sessions.js";
import type { Tenant, TenantRepository } from "../tenants/tenant-repository.js";
import { COMMAND_LINE_CLIENT, COMMAND_LINE_CLIENT_ID } from "./command-line-client.js";
import { consoleClient, CONSOLE_CLIENT_ID } from "./console-client.js";
import { requireRedirectUri } from "./redirect-addresses.js";

/** The client as stored; a type, not an interface, so that it is a StoreValue. */
export type ClientRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly redirect_uris: readonly string[];
  readonly public: boolean;
  readonly keys: readonly { readonly [member: string]: string | undefined }[];
  readonly permissions: number;
  readonly secret_hash: string | null;
  readonly secret_created_at: string | null;
  readonly previous_secret_hash: string | null;
  readonly previous_secret_until_ms: number;
  /** Absent: none. */
  readonly post_logout_redirect_uris?: readonly string[];
  /** Whether the client may use the device flow; absent: no. */
  readonly device_flow?: boolean;
  /** Absent: RS256. */
  readonly id_token_signed_response_alg?: SigningAlgorithm;
};

export interface ClientsDependencies {
  readonly store: Store;
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly access: TenantAccess;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly log: Log;
}

const MANAGE_CLIENT = PERMISSIONS.update | PERMISSIONS.grant;

export class Clients {
  readonly #dependencies: ClientsDependencies;
  readonly #console: ClientRecord;

  /** @param options.serviceUrl address of the server, at which its console is */
  constructor(options: { readonly serviceUrl: string }, dependencies: ClientsDependencies) {
    this.#dependencies = dependencies;
    this.#console = consoleClient(options.serviceUrl);
  }

  /**
   * Returns the client of an application; every application has one, until it is deleted. The server's own console and
   * the command line are clients without an application, which nobody can change.
   */
  find(applicationId: string): ClientRecord | undefined {
    if (applicationId === CONSOLE_CLIENT_ID) return this.#console;
    if (applicationId === COMMAND_LINE_CLIENT_ID) return COMMAND_LINE_CLIENT;
    const { tenants } = this.#dependencies;
    const application = tenants.applications.get([applicationId])?.value;
    if (application === undefined || tenants.liveCheck({ kind: "application", id: applicationId }) === undefined)
      return undefined;
    return this.#stored(applicationId)?.value ?? unconfiguredClient(applicationId, application.created_at);
  }

  /** Returns the client of an application where the caller may read. Throws as `TenantAccess.require` does. */
  get(principal: Principal, applicationId: string): ClientJson {
    this.#dependencies.access.require(principal, tenantOf(applicationId), PERMISSIONS.read);
    return this.#json(this.#require(applicationId));
  }

  /**
   * Changes the given members and ends the sessions that the client opened for itself.
   * @throws permission_escalation for bits that the caller does not hold on the application; invalid_request for an
   *   unsound address or key; otherwise as `TenantAccess.require` does
   */
  async update(principal: Principal, applicationId: string, input: UpdateClientInput): Promise<void> {
    const held = this.#dependencies.access.require(principal, tenantOf(applicationId), MANAGE_CLIENT);
    if (input.permissions !== undefined)
      this.#dependencies.access.requireSubset(input.permissions, held & TENANT_PERMISSIONS);
    for (const uri of input.redirect_uris ?? []) requireRedirectUri(uri, "redirect_uris");
    for (const uri of input.post_logout_redirect_uris ?? []) requireRedirectUri(uri, "post_logout_redirect_uris");
    for (const key of input.jwks?.keys ?? []) requireClientKey(key);
    const kids = input.jwks?.keys.map(({ kid }) => kid) ?? [];
    if (new Set(kids).size < kids.length) throw badKeys("two keys have the same kid");
    await this.#change(applicationId, (client) => ({
      ...client,
      ...(input.redirect_uris === undefined ? {} : { redirect_uris: input.redirect_uris }),
      ...(input.post_logout_redirect_uris === undefined
        ? {}
        : { post_logout_redirect_uris: input.post_logout_redirect_uris }),
      ...(input.public === undefined ? {} : { public: input.public }),
      ...(input.device_flow === undefined ? {} : { device_flow: input.device_flow }),
      ...(input.permissions === undefined ? {} : { permissions: input.permissions }),
      ...(input.jwks === undefined ? {} : { keys: input.jwks?.keys ?? [] }),
      ...(input.id_token_signed_response_alg === undefined
        ? {}
        : { id_token_signed_response_alg: input.id_token_signed_response_alg }),
    }));
    await this.#endOwn(applicationId);
    this.#log("oauth client changed", principal, applicationId);
  }

  /**
   * Makes a new secret and returns it; only its hash is kept.
   * @param overlapSec seconds for which the replaced secret still works; 0 for none
   * @throws permission_escalation unless the caller holds what the client's tokens carry
   */
  async rotateSecret(principal: Principal, applicationId: string, overlapSec: number): Promise<ClientSecretJson> {
    const { access, clock } = this.#dependencies;
    const held = access.require(principal, tenantOf(applicationId), MANAGE_CLIENT);
    access.requireSubset(this.#require(applicationId).permissions, held);
    const secret = createOpaqueToken("client_secret");
    const nowMs = clock.nowMs();
    const changed = await this.#change(applicationId, (client) => ({
      ...client,
      secret_hash: secret.hash,
      secret_created_at: isoTimestamp(nowMs),
      previous_secret_hash: overlapSec === 0 ? null : client.secret_hash,
      previous_secret_until_ms: overlapSec === 0 || client.secret_hash === null ? 0 : nowMs + overlapSec * 1000,
    }));
    this.#log("oauth client secret replaced", principal, applicationId);
    const { client_id, secret_created_at, previous_secret_expires_at } = this.#json(changed);
    return {
      client_id,
      client_secret: secret.text,
      secret_created_at: secret_created_at ?? isoTimestamp(nowMs),
      previous_secret_expires_at,
    };
  }

  /** Deletes the secret, keys and redirect addresses, and ends the sessions that the client opened for itself. */
  async delete(principal: Principal, applicationId: string): Promise<void> {
    const { access, repository } = this.#dependencies;
    access.require(principal, tenantOf(applicationId), MANAGE_CLIENT);
    this.#require(applicationId);
    await repository.commitCurrent(() => {
      const stored = this.#stored(applicationId);
      if (stored === undefined) return undefined;
      return { checks: [{ key: stored.key, version: stored.version }], deletes: [stored.key] };
    });
    await this.#endOwn(applicationId);
    this.#log("oauth client removed", principal, applicationId);
  }

  /** Returns the commit that deletes the client of a deleted application. */
  deleteCommit(applicationId: string): StoreCommit {
    return { deletes: [clientKey(applicationId)] };
  }

  /** Returns true when the text is the client's secret, or within the overlap the one before it. */
  isSecret(client: ClientRecord, text: string): boolean {
    const hash = opaqueTokenHash("client_secret", text);
    if (hash === undefined) return false;
    const isCurrent = client.secret_hash !== null && sameHash(hash, client.secret_hash);
    const isPrevious =
      client.previous_secret_hash !== null &&
      sameHash(hash, client.previous_secret_hash) &&
      this.#dependencies.clock.nowMs() < client.previous_secret_until_ms;
    return isCurrent || isPrevious;
  }

  /** Ends the sessions that the client opened for the application itself, not those of users. */
  async #endOwn(applicationId: string): Promise<void> {
    await this.#dependencies.sessions.endWhere(
      tenantOf(applicationId),
      (session) => session.client_id === applicationId,
    );
  }

  async #change(applicationId: string, change: (client: ClientRecord) => ClientRecord): Promise<ClientRecord> {
    const { repository, tenants } = this.#dependencies;
    return retryOnConflict(async () => {
      const stored = this.#stored(applicationId);
      const next = change(this.#require(applicationId));
      const key = clientKey(applicationId);
      const live = tenants.liveCheck(tenantOf(applicationId)) ?? {};
      await repository.commit(
        mergeCommits(live, { checks: [{ key, version: stored?.version ?? "absent" }], puts: [{ key, value: next }] }),
      );
      return next;
    });
  }

  #stored(applicationId: string): StoreRecord<ClientRecord> | undefined {
    return this.#dependencies.store.get<ClientRecord>(clientKey(applicationId));
  }

  #require(applicationId: string): ClientRecord {
    const client = this.find(applicationId);
    if (client === undefined) throw tenantNotFound("application");
    return client;
  }

  #json(client: ClientRecord): ClientJson {
    const overlaps =
      client.previous_secret_hash !== null && this.#dependencies.clock.nowMs() < client.previous_secret_until_ms;
    return {
      client_id: client.id,
      created_at: client.created_at,
      redirect_uris: [...client.redirect_uris],
      post_logout_redirect_uris: [...(client.post_logout_redirect_uris ?? [])],
      public: client.public,
      device_flow: client.device_flow ?? false,
      jwks: client.keys.length === 0 ? null : { keys: client.keys.map((key) => key as ClientKeyJson) },
      permissions: client.permissions,
      id_token_signed_response_alg: client.id_token_signed_response_alg ?? "RS256",
      secret_created_at: client.secret_created_at,
      previous_secret_expires_at: overlaps ? isoTimestamp(client.previous_secret_until_ms) : null,
    };
  }

  #log(event: string, principal: Principal, applicationId: string): void {
    this.#dependencies.log.info(event, {
      subject: formatSubject(principal.subject),
      tenant: `application:${applicationId}`,
    });
  }
}

function clientKey(applicationId: string): readonly string[] {
  return ["oauth_client", applicationId];
}

function tenantOf(applicationId: string): Tenant {
  return { kind: "application", id: applicationId };
}

function unconfiguredClient(id: string, createdAt: string): ClientRecord {
  return {
    id,
    created_at: createdAt,
    redirect_uris: [],
    public: false,
    keys: [],
    permissions: TENANT_PERMISSIONS,
    secret_hash: null,
    secret_created_at: null,
    previous_secret_hash: null,
    previous_secret_until_ms: 0,
  };
}

/** 2048 bits in base64url. */
const MODULUS_CHARACTERS_MIN = 342;
const KEY_MEMBERS: Readonly<Record<ClientKeyJson["kty"], readonly (keyof ClientKeyJson)[]>> = {
  OKP: ["crv", "x"],
  EC: ["crv", "x", "y"],
  RSA: ["n", "e"],
};

function requireClientKey(key: ClientKeyJson): void {
  const missing = KEY_MEMBERS[key.kty].filter((name) => key[name] === undefined);
  const wrongCurve = (key.kty === "OKP" && key.crv !== "Ed25519") || (key.kty === "EC" && key.crv !== "P-256");
  const tooShort = key.kty === "RSA" && (key.n?.length ?? 0) < MODULUS_CHARACTERS_MIN;
  const reason =
    missing.length > 0
      ? `a key lacks ${missing.join(", ")}`
      : wrongCurve
        ? "a key is on an unsupported curve; use Ed25519 or P-256"
        : tooShort
          ? "an RSA key is shorter than 2048 bits"
          : undefined;
  if (reason !== undefined) throw badKeys(reason);
  try {
    createPublicKey({ key: { ...key }, format: "jwk" });
  } catch {
    // The members are not numbers of such a key, or the point is not on the curve. OpenSSL's message would not help the
    // author of a client.
    throw badKeys("a key is not a sound public key of its kind");
  }
}

function badKeys(reason: string): AppError {
  return invalidMember("jwks", `jwks: ${reason}`);
}

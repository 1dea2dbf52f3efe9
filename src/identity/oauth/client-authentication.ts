/**
 * Authentication of OAuth clients: by a secret in the body or by HTTP Basic (RFC 6749 section 2.3.1), or by an
 * assertion signed with the client's own key (private_key_jwt: RFC 7523, OpenID Connect Core section 9). Fails in the
 * same way whatever is wrong.
 */
import { createHash } from "node:crypto";
import { createLocalJWKSet, decodeJwt, jwtVerify, type JWK, type JWTPayload } from "jose";
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { isUuid } from "../../platform/ids.js";
import { StoreConflict, type Store } from "../../platform/store/store.js";
import type { ClientRecord, Clients } from "./clients.js";
import { ExpiringRecords, type Expiring } from "../expiring-records.js";

/** The credentials of a request, not verified yet. */
export interface ClientCredentials {
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
  readonly client_assertion?: string | undefined;
  readonly client_assertion_type?: string | undefined;
  /** The whole Authorization header. */
  readonly authorization?: string | undefined;
}

export interface ClientAuthenticationOptions {
  /** Values that an assertion may have as `aud`: the issuer and the addresses of the routes that take assertions. */
  readonly audiences: readonly string[];
}

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/** `Ed25519` is the newer name of EdDSA over that curve (RFC 9864). */
export const ASSERTION_ALGORITHMS = ["EdDSA", "Ed25519", "ES256", "RS256", "PS256"];
/** An assertion is used at once; a longer life only helps a thief. */
const ASSERTION_LIFE_SEC_MAX = 5 * 60;
const CLOCK_TOLERANCE_SEC = 30;
const ASSERTION_CHARACTERS_MAX = 4096;

export class ClientAuthentication {
  readonly #audiences: readonly string[];
  readonly #clients: Clients;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #usedAssertions: ExpiringRecords<Expiring>;

  constructor(
    options: ClientAuthenticationOptions,
    dependencies: { readonly clients: Clients; readonly store: Store; readonly clock: Clock },
  ) {
    this.#audiences = options.audiences;
    this.#clients = dependencies.clients;
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
    this.#usedAssertions = new ExpiringRecords({ table: "client_assertion" }, dependencies);
  }

  /**
   * Returns the client that authenticated itself.
   * @throws invalid_client with the same words whatever is wrong
   */
  async authenticate(given: ClientCredentials): Promise<ClientRecord> {
    const client = await this.#authenticated(given);
    if (client === undefined) throw invalidClient();
    return client;
  }

  /**
   * Returns the client that authenticated itself, or a public client that sent only its id; PKCE protects its codes.
   * @throws invalid_client as `authenticate` does
   */
  async identify(given: ClientCredentials): Promise<ClientRecord> {
    const isNamedOnly =
      given.client_secret === undefined && given.client_assertion === undefined && !isBasic(given.authorization);
    if (!isNamedOnly) return this.authenticate(given);
    const client = this.#find(given.client_id);
    if (client?.public !== true) throw invalidClient();
    return client;
  }

  async #authenticated(given: ClientCredentials): Promise<ClientRecord | undefined> {
    if (isBasic(given.authorization) && basicCredentials(given.authorization) === undefined) return undefined;
    if (given.client_assertion !== undefined) return this.#byAssertion(given, given.client_assertion);
    const basic = basicCredentials(given.authorization);
    const id = basic?.id ?? given.client_id;
    const secret = basic?.secret ?? given.client_secret;
    // A request must use one method only (RFC 6749 section 2.3), and both places must name the same client.
    if (
      basic !== undefined &&
      (given.client_secret !== undefined || (given.client_id !== undefined && given.client_id !== basic.id))
    )
      return undefined;
    const client = this.#find(id);
    return client !== undefined && secret !== undefined && this.#clients.isSecret(client, secret) ? client : undefined;
  }

  async #byAssertion(given: ClientCredentials, assertion: string): Promise<ClientRecord | undefined> {
    if (
      given.client_assertion_type !== ASSERTION_TYPE ||
      assertion.length > ASSERTION_CHARACTERS_MAX ||
      given.client_secret !== undefined
    )
      return undefined;
    const claimed = claimedIssuer(assertion);
    const client = this.#find(claimed);
    if (
      client === undefined ||
      client.keys.length === 0 ||
      (given.client_id !== undefined && given.client_id !== claimed)
    )
      return undefined;
    const nowMs = this.#clock.nowMs();
    let payload: JWTPayload;
    try {
      ({ payload } = await jwtVerify(assertion, createLocalJWKSet({ keys: client.keys.map(verificationJwk) }), {
        algorithms: ASSERTION_ALGORITHMS,
        issuer: client.id,
        subject: client.id,
        audience: [...this.#audiences],
        clockTolerance: CLOCK_TOLERANCE_SEC,
        requiredClaims: ["exp", "jti"],
        currentDate: new Date(nowMs),
      }));
    } catch {
      // The response does not tell an attacker which rule failed.
      return undefined;
    }
    const { exp, jti } = payload;
    if (
      typeof jti !== "string" ||
      jti === "" ||
      exp === undefined ||
      exp * 1000 > nowMs + (ASSERTION_LIFE_SEC_MAX + CLOCK_TOLERANCE_SEC) * 1000
    )
      return undefined;
    return (await this.#isFirstUse(client.id, jti, (exp + CLOCK_TOLERANCE_SEC) * 1000)) ? client : undefined;
  }

  /** Remembers an assertion until it expires; returns false when it was used before. */
  async #isFirstUse(clientId: string, jti: string, untilMs: number): Promise<boolean> {
    const id = createHash("sha256").update(`${clientId} ${jti}`, "utf8").digest("hex");
    try {
      await this.#store.commit(this.#usedAssertions.insertCommit(id, { expires_at_ms: untilMs }));
    } catch (error) {
      if (error instanceof StoreConflict) return false;
      throw error;
    }
    await this.#usedAssertions.sweep();
    return true;
  }

  #find(id: string | undefined): ClientRecord | undefined {
    const lower = id?.toLowerCase();
    return lower !== undefined && isUuid(lower) ? this.#clients.find(lower) : undefined;
  }
}

/** The key without `alg` where its type allows one algorithm only, because that one may have two names. */
function verificationJwk(key: ClientRecord["keys"][number]): JWK {
  const { alg, ...rest } = key;
  const kty = rest["kty"] ?? "";
  return { ...rest, kty, ...(alg === undefined || kty !== "RSA" ? {} : { alg }) };
}

function claimedIssuer(assertion: string): string | undefined {
  try {
    return decodeJwt(assertion).iss;
  } catch {
    // Text that is not a JWT names no client.
    return undefined;
  }
}

/** Returns true for a header of the scheme Basic, well formed or not. */
function isBasic(authorization: string | undefined): boolean {
  return /^basic(?: |$)/i.test(authorization ?? "");
}

/** Id and secret of `Basic`, both form-encoded before they were joined (RFC 6749 section 2.3.1). */
function basicCredentials(
  authorization: string | undefined,
): { readonly id: string; readonly secret: string } | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 1) return undefined;
  try {
    return { id: formDecoded(text.slice(0, colon)), secret: formDecoded(text.slice(colon + 1)) };
  } catch {
    // A malformed percent encoding: no credentials.
    return undefined;
  }
}

function formDecoded(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

function invalidClient(): AppError {
  return new AppError("invalid_client", { message: "the client could not be authenticated" });
}

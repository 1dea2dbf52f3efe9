/** The client of a Proofwright server: its resources by area, and any route at all. */
import { Calls, type FullAnswer } from "./calls.js";
import type { AnswerAt, InputAt, JsonEndpoint } from "./endpoints.js";
import { streamEvents, type StreamOptions } from "./events.js";
import {
  accountCalls,
  connectorCalls,
  contractCalls,
  networkCalls,
  tokenContractCalls,
  transactionCalls,
  walletCalls,
} from "./resources/chain-calls.js";
import {
  applicationCalls,
  auditCalls,
  authCalls,
  invitationCalls,
  organizationCalls,
  tokenCalls,
  userCalls,
} from "./resources/identity-calls.js";
import { jobCalls } from "./resources/job-calls.js";
import { miningCalls, provingCalls } from "./resources/long-work.js";
import { proverCalls, proverFileCalls, proverSharingCalls, verifierCalls } from "./resources/prover-calls.js";
import { ceremonyCalls, referenceStringCalls, sharedProverCalls, storeCalls } from "./resources/prover-part-calls.js";
import { cipherCalls, keyCalls, keyLifeCalls, secretCalls, signingCalls, vaultCalls } from "./resources/vault-calls.js";
import { Transport, type CallOptions, type TransportOptions } from "./transport.js";

export type ProofwrightOptions = TransportOptions;

/** The part of an address that existing tools write behind the server's own. */
const API_PATH = /\/api\/v1\/*$/;
const RETRIES = 3;

/**
 * A client of one server for one token. Every method takes ids first, then the JSON of the API, then options such as
 * `signal`; it resolves to what the API answers, and rejects with ApiError where the server refuses.
 * @example
 *   const proofwright = await Proofwright.login({ baseUrl: "http://127.0.0.1:8080", email, password });
 *   const circuit = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254" };
 *   const { id } = await proofwright.provers.create(circuit);
 *   await proofwright.provers.waitUntilProvisioned(id, { onProgress: ({ step }) => console.log(step) });
 *   const { proof } = await proofwright.provers.prove(id, { witness: { X: "3", Y: "35" } });
 */
export class Proofwright {
  readonly provers;
  readonly jobs;
  readonly sharedProvers;
  readonly stores;
  readonly referenceStrings;
  readonly ceremonies;
  readonly vaults;
  readonly keys;
  readonly secrets;
  readonly seal;
  readonly networks;
  readonly accounts;
  readonly wallets;
  readonly contracts;
  readonly tokenContracts;
  readonly connectors;
  readonly transactions;
  readonly users;
  readonly auth;
  readonly applications;
  readonly organizations;
  readonly tokens;
  readonly invitations;
  readonly audit;
  readonly events;
  readonly #calls: Calls;

  /** @param options.retries 3 unless given, of requests that are safe to send again */
  constructor(options: ProofwrightOptions) {
    const baseUrl = options.baseUrl.replace(API_PATH, "");
    const calls = new Calls(new Transport({ retries: RETRIES, ...options, baseUrl }));
    this.#calls = calls;
    this.provers = {
      ...proverCalls(calls),
      ...provingCalls(calls),
      ...proverFileCalls(calls),
      ...proverSharingCalls(calls),
      ...verifierCalls(calls),
    };
    this.jobs = jobCalls(calls);
    this.sharedProvers = sharedProverCalls(calls);
    this.stores = storeCalls(calls);
    this.referenceStrings = referenceStringCalls(calls);
    this.ceremonies = ceremonyCalls(calls);
    this.vaults = vaultCalls(calls);
    this.keys = { ...keyCalls(calls), ...signingCalls(calls), ...cipherCalls(calls), ...keyLifeCalls(calls) };
    this.secrets = secretCalls(calls);
    this.seal = sealCalls(calls);
    this.networks = networkCalls(calls);
    this.accounts = accountCalls(calls);
    this.wallets = walletCalls(calls);
    this.contracts = contractCalls(calls);
    this.tokenContracts = tokenContractCalls(calls);
    this.connectors = connectorCalls(calls);
    this.transactions = { ...transactionCalls(calls), ...miningCalls(calls) };
    this.users = userCalls(calls);
    this.auth = authCalls(calls);
    this.applications = applicationCalls(calls);
    this.organizations = organizationCalls(calls);
    this.tokens = tokenCalls(calls);
    this.invitations = invitationCalls(calls);
    this.audit = auditCalls(calls);
    this.events = {
      /** Yields events until the caller stops; goes on by itself after an interruption. */
      stream: (stream?: StreamOptions) => streamEvents(calls, stream),
    };
  }

  /**
   * Logs in with e-mail and password, and returns a client with the token, which lasts 15 minutes.
   * @throws ApiError `invalid_credentials`
   */
  static async login(
    options: Omit<ProofwrightOptions, "token"> & { readonly email: string; readonly password: string },
  ): Promise<Proofwright> {
    const { email, password, ...rest } = options;
    const { token } = await new Proofwright(rest).auth.login({ email, password });
    return new Proofwright({ ...rest, token: token.access_token });
  }

  /**
   * Calls any route that answers JSON, typed by its definition. Sent again only with an `idempotencyKey`, or if it is a
   * GET.
   * @example await proofwright.request("GET /api/v1/networks/:id/stats", { params: { id } });
   */
  async request<E extends JsonEndpoint>(
    endpoint: E,
    input: InputAt<E>,
    options?: CallOptions,
  ): Promise<FullAnswer<AnswerAt<E>>> {
    return await this.#calls.full(endpoint, input, options);
  }

  /** Reads the server's name and version. */
  async status(options?: CallOptions): Promise<AnswerAt<"GET /status">> {
    return await this.#calls.json("GET /status", {}, options);
  }

  /** Reads the server's OpenAPI document. */
  async openApi(options?: CallOptions): Promise<unknown> {
    const bytes = await this.#calls.bytes("GET /openapi.json", {}, options);
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  }
}

/** The seal of the vaults. */
function sealCalls(calls: Calls) {
  return {
    /** Reads whether the vaults are sealed. */
    status: (options?: CallOptions) => calls.json("GET /api/v1/seal_status", {}, options),
    /** Makes a seal key: the answer's 24 words are shown once. */
    createKey: async (options?: CallOptions) => {
      const bytes = await calls.bytes("POST /api/v1/unsealerkey", {}, options);
      return JSON.parse(new TextDecoder().decode(bytes)) as SealKey;
    },
    /** Unseals the vaults with the 24 words. */
    unseal: (key: string, options?: CallOptions) => calls.json("POST /api/v1/unseal", { body: { key } }, options),
    /** Seals the vaults with the 24 words. Returns which nodes have not said in time that they are sealed, if any. */
    seal: (key: string, options?: CallOptions) => calls.json("POST /api/v1/seal", { body: { key } }, options),
  };
}

export interface SealKey {
  /** 24 words. */
  readonly key: string;
  readonly validation_hash: string;
}

/**
 * The keys to which inputs of a prover are encrypted: C25519 keys of its vault that were made here, and no others that
 * its owner has there. Whoever may prove gets the public
 * keys; the owner makes them, and disables or deletes them as other keys of the vault.
 */
import type { Subject } from "../../platform/auth/principal.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import { AppError, assert, notFound } from "../../platform/errors.js";
import type { VaultService } from "../../vault/service.js";
import type { Labelling } from "../labels/labelling.js";
import type { ProverRepository } from "../repository.js";
import type { ProverAccess } from "../sharing/prover-access.js";
import type { inputKeyRoutes } from "./input-key-routes.js";
import type { InputKey } from "./input-key-schemas.js";

interface InputKeysDependencies {
  readonly repository: Pick<ProverRepository, "find">;
  readonly access: Pick<ProverAccess, "require">;
  readonly labelling: Pick<Labelling, "idOf">;
  readonly vault: Pick<VaultService, "createKey" | "listKeys" | "publicKeys">;
}

const SPEC = "C25519";
/** One at a time is enough; the others are of tokens that are still on their way. */
const KEYS_MAX = 16;
const PAGE_KEYS = 100;

export class InputKeys {
  readonly #with: InputKeysDependencies;

  constructor(dependencies: InputKeysDependencies) {
    this.#with = dependencies;
  }

  /**
   * Makes a key in the vault of an own prover.
   * @throws AppError `not_found`, `conflict` when there are many, `vault_sealed`
   */
  async create(owner: Subject, id: string): Promise<InputKey> {
    const prover = this.#with.repository.find(owner, id)?.value;
    if (prover === undefined) throw notFound("prover");
    const { vault_id: vaultId } = prover;
    if (this.#idsOf(owner, vaultId).size >= KEYS_MAX)
      throw new AppError("conflict", {
        message: `the prover has ${String(KEYS_MAX)} input keys: delete one in its vault before you make another`,
      });
    const input = { type: "asymmetric", usage: "sign/verify", spec: SPEC, name: "inputs" } as const;
    const key = await this.#with.vault.createKey(owner, vaultId, input, { isForInputs: true });
    assert(key.public_key !== undefined, "a C25519 key has a public key");
    return inputKey(key.id, Buffer.from(key.public_key.slice(2), "hex").toString("base64url"));
  }

  /**
   * Returns the public keys, each as its record in the vault authenticates it.
   * @throws AppError `not_found`, `forbidden` for one who may verify only, `vault_sealed`
   */
  async list(caller: Subject, id: string): Promise<InputKey[]> {
    const { prover } = this.#with.access.require(caller, id, "prove");
    const { owner } = prover.build;
    const keys: InputKey[] = [];
    const ids = this.#idsOf(owner, prover.vault_id);
    for (let page = 1; ; page += 1) {
      const { body, total } = await this.#with.vault.publicKeys.jwks(owner, prover.vault_id, { page, rpp: PAGE_KEYS });
      for (const { crv, kid, x } of body.keys)
        if (crv === "X25519" && kid !== undefined && x !== undefined && ids.has(kid)) keys.push(inputKey(kid, x));
      if (page * PAGE_KEYS >= total) return keys;
    }
  }

  /** Returns the ids of the keys that are for inputs, disabled ones too. */
  #idsOf(owner: Subject, vaultId: string): ReadonlySet<string> {
    const ids = new Set<string>();
    for (let page = 1; ; page += 1) {
      const { body, total } = this.#with.vault.listKeys(owner, vaultId, { page, rpp: PAGE_KEYS, spec: SPEC });
      for (const { id, input_key: isForInputs } of body) if (isForInputs === true) ids.add(id);
      if (page * PAGE_KEYS >= total) return ids;
    }
  }

  /** Returns the handlers of the routes in input-key-routes.ts. */
  handlers(): HandlersFor<typeof inputKeyRoutes> {
    return {
      createProverInputKey: async ({ principal, params }) => ({
        status: 201,
        body: await this.create(principal.subject, params.id),
      }),
      listProverInputKeys: async ({ principal: { subject }, params }) => ({
        status: 200,
        body: { keys: await this.list(subject, this.#with.labelling.idOf(subject, params.id)) },
      }),
    };
  }
}

function inputKey(kid: string, x: string): InputKey {
  return { kid, kty: "OKP", crv: "X25519", x, use: "enc", alg: "ECDH-ES+A256KW" };
}

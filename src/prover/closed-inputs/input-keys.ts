/**
 * The keys to which inputs of a prover are encrypted: keys of its vault that were made here, and no others that its
 * owner has there. Whoever may prove gets the public keys; the owner makes them, and disables or deletes them as other
 * keys of the vault.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { keepingAnswer } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import { AppError, assert, notFound } from "../../platform/errors.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/commits.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import type { PreparedKey } from "../../vault/keys/keys.js";
import type { VaultService } from "../../vault/service.js";
import type { Labelling } from "../labels/labelling.js";
import type { ProverRepository } from "../repository.js";
import type { ProverAccess } from "../sharing/prover-access.js";
import type { inputKeyRoutes } from "./input-key-routes.js";
import type { CreateInputKey, InputKey } from "./input-key-schemas.js";

interface InputKeysDependencies {
  readonly store: Pick<Store, "commit">;
  readonly repository: Pick<ProverRepository, "find">;
  readonly access: Pick<ProverAccess, "require">;
  readonly labelling: Pick<Labelling, "idOf">;
  readonly vault: Pick<VaultService, "prepareKey" | "listKeys" | "publicKeys">;
}

/** Specs of the vault, by the curve. */
const SPECS = { X25519: "C25519", "P-256": "P-256-ECDH" } as const;
/** Keys are published with one of the two algorithms; tokens of the other are taken as well. */
const USE = { use: "enc", alg: "ECDH-ES+A256KW" } as const;
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
   * @param keep returns what else is kept in the key's commit
   * @throws AppError `not_found`, `conflict` when there are many, `vault_sealed`
   */
  async create(
    owner: Subject,
    id: string,
    { crv = "X25519" }: CreateInputKey = {},
    keep?: (made: InputKey) => StoreCommit,
  ): Promise<InputKey> {
    return await retryOnConflict(async () => {
      const prover = this.#with.repository.find(owner, id)?.value;
      if (prover === undefined) throw notFound("prover");
      const { vault_id: vaultId } = prover;
      if (this.#idsOf(owner, vaultId).size >= KEYS_MAX)
        throw new AppError("conflict", {
          message: `the prover has ${String(KEYS_MAX)} input keys: delete one in its vault before you make another`,
        });
      const input = { type: "asymmetric", usage: "sign/verify", spec: SPECS[crv], name: "inputs" } as const;
      const { key, commit } = await this.#with.vault.prepareKey(owner, vaultId, input, { isForInputs: true });
      const made = publicKeyOf(key, crv);
      await this.#with.store.commit(mergeCommits(commit, keep?.(made) ?? {}));
      return made;
    });
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
      for (const { kid, crv, x, y } of body.keys) {
        if (kid === undefined || x === undefined || !ids.has(kid)) continue;
        if (crv === "X25519") keys.push(inputKey({ kid, crv, x }));
        else if (crv === "P-256" && y !== undefined) keys.push(inputKey({ kid, crv, x, y }));
      }
      if (page * PAGE_KEYS >= total) return keys;
    }
  }

  /** Returns the ids of the keys that are for inputs, disabled ones too. */
  #idsOf(owner: Subject, vaultId: string): ReadonlySet<string> {
    const ids = new Set<string>();
    for (const spec of Object.values(SPECS))
      for (let page = 1, total = 1; (page - 1) * PAGE_KEYS < total; page += 1) {
        const listed = this.#with.vault.listKeys(owner, vaultId, { page, rpp: PAGE_KEYS, spec });
        total = listed.total;
        for (const { id, input_key: isForInputs } of listed.body) if (isForInputs === true) ids.add(id);
      }
    return ids;
  }

  /** Returns the handlers of the routes in input-key-routes.ts. */
  handlers(): HandlersFor<typeof inputKeyRoutes> {
    return {
      createProverInputKey: async ({ principal, params, body, once }) =>
        createdAnswer(await this.create(principal.subject, params.id, body, keepingAnswer(once, createdAnswer))),
      listProverInputKeys: async ({ principal: { subject }, params }) => ({
        status: 200,
        body: { keys: await this.list(subject, this.#with.labelling.idOf(subject, params.id)) },
      }),
    };
  }
}

type PublicPart =
  | { readonly kid: string; readonly crv: "X25519"; readonly x: string }
  | { readonly kid: string; readonly crv: "P-256"; readonly x: string; readonly y: string };

function createdAnswer(key: InputKey) {
  return { status: 201, body: key } as const;
}

function publicKeyOf({ id: kid, public_key: publicKey }: PreparedKey["key"], crv: keyof typeof SPECS): InputKey {
  assert(publicKey !== undefined, "a key for key agreement has a public key");
  const bytes = Buffer.from(publicKey.slice(2), "hex");
  if (crv === "X25519") return inputKey({ kid, crv, x: bytes.toString("base64url") });
  // 4 || x(32) || y(32) (SEC 1, section 2.3.3).
  const [x = "", y = ""] = [bytes.subarray(1, 33), bytes.subarray(33)].map((part) => part.toString("base64url"));
  return inputKey({ kid, crv, x, y });
}

function inputKey(key: PublicPart): InputKey {
  return key.crv === "X25519" ? { ...key, kty: "OKP", ...USE } : { ...key, kty: "EC", ...USE };
}

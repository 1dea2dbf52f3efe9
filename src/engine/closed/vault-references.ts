/**
 * Inputs that name what is in a vault instead of a value: `{"$secret": id}` and `{"$sign": key id, "message": m}`. The
 * main thread reads them to find what is asked for; the proving thread reads the same inputs again, in the same order,
 * and puts the values in their places.
 */
import { Problems, parseFieldElement } from "../circuit/inputs.js";
import type { InputProblem } from "../circuit/inputs.js";
import { scalarFieldOf, type CircuitInterface } from "../circuit/interface.js";

/** What of a signature an input takes; without one, all of it as an object. */
const SIGNATURE_PARTS = ["PublicKey", "Ax", "Ay", "Message", "R8", "R8x", "R8y", "S"] as const;
export type SignaturePart = (typeof SIGNATURE_PARTS)[number];

interface Place {
  /** Such as `Preimage[3]`; empty for all inputs. */
  readonly path: string;
  /** Puts a value in the reference's place, in the inputs that were read. */
  readonly put: (value: unknown) => void;
}

export interface SecretReference extends Place {
  readonly kind: "secret";
  readonly id: string;
  readonly vaultId: string | undefined;
  /** The caller wants it also where everybody sees it. */
  readonly isRevealed: boolean;
}

export interface SignatureReference extends Place {
  readonly kind: "signature";
  /** Of the key. */
  readonly id: string;
  readonly vaultId: string | undefined;
  /** Element of BN254's scalar field, 64 digits of hex, big-endian. */
  readonly message: string;
  readonly part: SignaturePart | undefined;
}

export type VaultReference = SecretReference | SignatureReference;

type FoundReferences =
  | { readonly ok: true; readonly references: readonly VaultReference[] }
  | { readonly ok: false; readonly details: readonly InputProblem[] };

/** Each takes the vault up to 8 ms; a secret may have all values of an array. */
export const REFERENCES_MAX = 32;
/** Nesting that JSON of this server may have is less. */
const DEPTH_MAX = 64;
/** Names all inputs together, as the API does. */
const WHOLE = "witness";
const PATH_CHARS_MAX = 128;
const SECRET = "$secret";
const SIGN = "$sign";
const SECRET_MEMBERS: ReadonlySet<string> = new Set([SECRET, "vault_id", "reveal"]);
const SIGN_MEMBERS: ReadonlySet<string> = new Set([SIGN, "message", "vault_id", "part"]);
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** EdDSA with Poseidon is over this curve's scalar field. */
const MESSAGE_PRIME = scalarFieldOf("BN254");
const SIGNAL = /^[A-Za-z_$][A-Za-z0-9_$]*/;

/**
 * Finds the references of inputs.
 * @param holder its member `inputs` is parsed JSON; a reference in place of all inputs is put there
 * @returns the references in their order, or one problem for each that is malformed
 */
export function findReferences(holder: { inputs: unknown }): FoundReferences {
  const search = new Search();
  const put = (value: unknown): void => {
    holder.inputs = value;
  };
  search.read(holder.inputs, { path: "", put }, 0);
  const { problems, references } = search;
  if (references.length > REFERENCES_MAX)
    problems.add(WHOLE, `${WHOLE}: the inputs name more than ${String(REFERENCES_MAX)} values of vaults`);
  return problems.count > 0 ? { ok: false, details: problems.list() } : { ok: true, references };
}

/** Returns what a reference asks for as a text: equal ones ask for the same. */
export function nameOfValue(reference: VaultReference): string {
  const { kind, id, vaultId = "" } = reference;
  return [kind, vaultId, id, reference.kind === "signature" ? reference.message : ""].join(" ");
}

/** Returns one reference for each value that is asked for, in the order of the first ones. */
export function distinctReferences(references: readonly VaultReference[]): VaultReference[] {
  const seen = new Map<string, VaultReference>();
  for (const reference of references)
    if (!seen.has(nameOfValue(reference))) seen.set(nameOfValue(reference), reference);
  return [...seen.values()];
}

/**
 * Returns a problem for each secret in the place of a public input, which would be in the answer, the record and the
 * proof's statement, unless the caller says that it may be.
 */
export function revealingReferences(
  circuit: CircuitInterface,
  references: readonly VaultReference[],
): readonly InputProblem[] {
  const problems = new Problems();
  const publicNames = new Set(
    circuit.signals.filter(({ visibility }) => visibility === "public").map(({ name }) => name),
  );
  for (const reference of references) {
    if (reference.kind !== "secret" || reference.isRevealed) continue;
    const { path } = reference;
    const signal = SIGNAL.exec(path)?.[0] ?? "";
    if (circuit.isUnnamed === true && circuit.publicInputCount > 0)
      problems.add(
        path,
        `${path} may be public, which nobody knows of a circuit without circuit.sym: give the secret with "reveal": true if it may be seen`,
      );
    else if (publicNames.has(signal))
      problems.add(
        path,
        `${path} is public, so that everybody would see the secret: give it with "reveal": true if that is meant`,
      );
  }
  return problems.list();
}

class Search {
  readonly problems = new Problems();
  readonly references: VaultReference[] = [];

  read(value: unknown, place: Place, depth: number): void {
    if (typeof value !== "object" || value === null || depth > DEPTH_MAX) return;
    if (Array.isArray(value)) {
      for (const [i, item] of (value as unknown[]).entries())
        if (typeof item === "object") this.read(item, memberPlace(value, String(i), `${place.path}[${i}]`), depth + 1);
      return;
    }
    if (Object.hasOwn(value, SECRET) || Object.hasOwn(value, SIGN)) {
      const isWhole = place.path === "";
      const path = isWhole ? WHOLE : place.path.slice(0, PATH_CHARS_MAX);
      this.#add(value as Readonly<Record<string, unknown>>, { ...place, path, isWhole });
      return;
    }
    for (const [name, item] of Object.entries(value))
      if (typeof item === "object")
        this.read(item, memberPlace(value, name, place.path === "" ? name : `${place.path}.${name}`), depth + 1);
  }

  #add(value: Readonly<Record<string, unknown>>, { isWhole, ...place }: Place & { readonly isWhole: boolean }): void {
    const isSecret = Object.hasOwn(value, SECRET);
    const members = isSecret ? SECRET_MEMBERS : SIGN_MEMBERS;
    const what = isSecret ? SECRET : SIGN;
    const refuse = (message: string): void => {
      this.problems.add(place.path, message);
    };
    const { [what]: id, vault_id: vaultId } = value;
    if (Object.keys(value).some((name) => !members.has(name)))
      refuse(`${place.path}: beside ${what} there may be ${[...members].slice(1).join(", ")}`);
    else if (typeof id !== "string" || !UUID.test(id)) refuse(`${place.path}: ${what} takes an id`);
    else if (vaultId !== undefined && (typeof vaultId !== "string" || !UUID.test(vaultId)))
      refuse(`${place.path}: vault_id is no id`);
    else {
      const found = { ...place, id: id.toLowerCase(), vaultId: vaultId?.toLowerCase() };
      if (isSecret && isWhole) refuse(`${WHOLE}: a secret is the value of an input, not all of them`);
      else if (isSecret) this.#addSecret(found, value["reveal"]);
      else this.#addSignature(found, value);
    }
  }

  #addSecret(found: Place & Pick<SecretReference, "id" | "vaultId">, reveal: unknown): void {
    if (reveal !== undefined && typeof reveal !== "boolean")
      this.problems.add(found.path, `${found.path}: reveal is true or false`);
    else this.references.push({ ...found, kind: "secret", isRevealed: reveal === true });
  }

  #addSignature(
    found: Place & Pick<SignatureReference, "id" | "vaultId">,
    { message, part }: Readonly<Record<string, unknown>>,
  ): void {
    const element = parseFieldElement(message, MESSAGE_PRIME);
    const known = SIGNATURE_PARTS.find((name) => name === part);
    if (typeof element === "string") this.problems.add(found.path, `${found.path}: message ${element}`);
    else if (part !== undefined && known === undefined)
      this.problems.add(found.path, `${found.path}: part is one of ${SIGNATURE_PARTS.join(", ")}`);
    else
      this.references.push({
        ...found,
        kind: "signature",
        message: element.toString(16).padStart(64, "0"),
        part: known,
      });
  }
}

/** Any name may be a member's, `__proto__` too, which an assignment would not make one. */
function memberPlace(holder: object, name: string, path: string): Place {
  return {
    path,
    put: (value) => {
      Object.defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true });
    },
  };
}

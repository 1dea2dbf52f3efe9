/**
 * Statements of people, signed by the keys that people have: an Ethereum wallet's, an SSH key as GitHub publishes it,
 * or an Ed25519 or P-256 key such as one of a vault. Verified from the statement alone, by the server and offline.
 */
import { recoverAddress } from "../ethereum/recovered-address.js";
import { publicKeyOfRaw } from "./der-keys.js";
import { isEd25519PublicKey, verifyEd25519 } from "./ed25519.js";
import { verifyP256 } from "./p256.js";
import { verifySshSignature } from "./ssh-signature.js";

/** Who has signed, and the signature. */
export type SignedStatement =
  | { readonly kind: "ethereum"; readonly address: string; readonly signature: string }
  | { readonly kind: "ssh"; readonly public_key: string; readonly signature: string }
  | { readonly kind: "ed25519"; readonly public_key: string; readonly signature: string }
  | { readonly kind: "p256"; readonly public_key: string; readonly signature: string };

/** Keeps a signature apart from those that the same SSH key makes for other uses. */
export const SSH_NAMESPACE = "proofwright-ceremony";

/** Returns why a statement is not its signer's signature of the text; undefined where it is. */
export function findStatementFault(statement: SignedStatement, text: string): string | undefined {
  const message = Buffer.from(text, "utf8");
  switch (statement.kind) {
    case "ethereum":
      return recoverAddress(message, Buffer.from(statement.signature.slice(2), "hex"))?.toLowerCase() ===
        statement.address.toLowerCase()
        ? undefined
        : "the signature is not that of the address over the text";
    case "ssh":
      return verifySshSignature(statement.public_key, statement.signature, { message, namespace: SSH_NAMESPACE })
        ? undefined
        : `the signature is not that of the SSH key over the text, by ssh-keygen -Y sign -n ${SSH_NAMESPACE}`;
    case "ed25519": {
      const raw = Buffer.from(statement.public_key, "hex");
      const key = isEd25519PublicKey(raw) ? publicKeyOfRaw("ed25519", raw) : undefined;
      return key !== undefined && verifyEd25519(key, message, Buffer.from(statement.signature, "hex"))
        ? undefined
        : "the signature is not that of the key over the text";
    }
    case "p256": {
      const key = publicKeyOfRaw("p256", Buffer.from(statement.public_key, "hex"));
      return key !== undefined && verifyP256(key, message, Buffer.from(statement.signature, "hex"))
        ? undefined
        : "the signature is not that of the key over the text";
    }
  }
}

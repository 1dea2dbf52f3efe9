/**
 * Rounds of drand (League of Entropy), verified offline: a round's randomness is the SHA-256 of a BLS signature over
 * its number by the key of its chain, which no member of the league has alone. The chains are named by their hash,
 * which commits to their key; the keys below are those that each chain publishes at `/HASH/info`.
 *
 * Schemes, as drand names them; the message is hashed to the curve by RFC 9380:
 * - `pedersen-bls-chained`: SHA-256(signature of the round before || round u64 big-endian), signature in G2;
 * - `pedersen-bls-unchained`: SHA-256(round u64 big-endian), signature in G2;
 * - `bls-unchained-g1-rfc9380`: the same message, signature in G1.
 */
import { createHash } from "node:crypto";
import { bls12_381 } from "@noble/curves/bls12-381.js";

/** A round as drand publishes it; all hex is lower case. */
export interface DrandRound {
  /** The chain's hash. */
  readonly chain: string;
  readonly round: number;
  readonly randomness: string;
  readonly signature: string;
  /** `previous_signature`, which chained rounds have. */
  readonly previousSignature: string | null;
}

type Scheme = "pedersen-bls-chained" | "pedersen-bls-unchained" | "bls-unchained-g1-rfc9380";

interface DrandChain {
  readonly name: string;
  readonly scheme: Scheme;
  readonly publicKey: string;
}

const CHAINS: ReadonlyMap<string, DrandChain> = new Map([
  [
    "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
    {
      name: "quicknet",
      scheme: "bls-unchained-g1-rfc9380",
      publicKey:
        "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
    },
  ],
  [
    "8990e7a9aaed2ffed73dbd7092123d6f289930540d7651336225dc172e51b2ce",
    {
      name: "default",
      scheme: "pedersen-bls-chained",
      publicKey: "868f005eb8e6e4ca0a47c8a77ceaa5309a47978a7c71bc5cce96366b5d7a569937c529eeda66c7293784a9402801af31",
    },
  ],
  [
    "7672797f548f3f4748ac4bf3352fc6c6b6468c9ad40ad456a397545c6e2df5bf",
    {
      name: "testnet-unchained-3s",
      scheme: "pedersen-bls-unchained",
      publicKey: "8200fc249deb0148eb918d6e213980c5d01acd7fc251900d9260136da3b54836ce125172399ddc69c4e3e11429b62c11",
    },
  ],
]);

const DOMAIN = {
  g1: "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_",
  g2: "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_",
} as const;
const ROUND_BYTES = 8;

/** Returns the name of a chain whose rounds can be verified here; undefined for another one. */
export function drandChainName(chain: string): string | undefined {
  return CHAINS.get(chain)?.name;
}

/**
 * Returns why a round is not what its chain signed; undefined where it is. Takes some 30 ms.
 * @throws RangeError for a chain that `drandChainName` does not know
 */
export function findDrandFault(published: DrandRound): string | undefined {
  const chain = CHAINS.get(published.chain);
  if (chain === undefined) throw new RangeError("the key of this drand chain is not known");
  const { round, randomness, signature, previousSignature } = published;
  const isChained = chain.scheme === "pedersen-bls-chained";
  if (isChained && previousSignature === null)
    return `rounds of drand's ${chain.name} are signed with the signature before: give previous_signature as well`;
  if (!isChained && previousSignature !== null) return `rounds of drand's ${chain.name} have no previous_signature`;
  const signed = Buffer.from(signature, "hex");
  if (createHash("sha256").update(signed).digest("hex") !== randomness)
    return "the value is not the SHA-256 of the signature";
  const hash = createHash("sha256").update(Buffer.from(previousSignature ?? "", "hex"));
  const message = hash.update(bigEndian(round)).digest();
  return isSignatureOf(chain, message, signed)
    ? undefined
    : `the signature is not that of drand's ${chain.name} for round ${String(round)}`;
}

function isSignatureOf({ scheme, publicKey }: DrandChain, message: Uint8Array, signature: Uint8Array): boolean {
  const key = Uint8Array.from(Buffer.from(publicKey, "hex"));
  try {
    if (scheme === "bls-unchained-g1-rfc9380") {
      const { shortSignatures: short } = bls12_381;
      return short.verify(Uint8Array.from(signature), short.hash(message, DOMAIN.g1), key);
    }
    const { longSignatures: long } = bls12_381;
    return long.verify(Uint8Array.from(signature), long.hash(message, DOMAIN.g2), key);
  } catch {
    // Not a point of the subgroup.
    return false;
  }
}

function bigEndian(round: number): Uint8Array {
  const bytes = Buffer.alloc(ROUND_BYTES);
  bytes.writeBigUInt64BE(BigInt(round));
  return bytes;
}

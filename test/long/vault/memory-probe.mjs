/**
 * Runs a vault in a process of its own and counts copies of its keys in the memory of the whole process: while
 * unsealed, and after sealing. The wanted bytes are kept masked, so that the search does not find itself. Prints one
 * JSON line.
 *
 * With `make` it makes the keys, of which the next process knows nothing but what the store has and the unsealing
 * entropy, which is handed over in a file.
 */
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { entropyPhrase, validationHash } from "../../../dist/src/crypto/wallets/seal-phrase.js";
import { createLog } from "../../../dist/src/platform/log.js";
import { systemClock } from "../../../dist/src/platform/clock.js";
import { openStore } from "../../../dist/src/platform/store/lmdb/lmdb-store.js";
import { createVault } from "../../../dist/src/vault/create-vault.js";
import { operationHandlers } from "../../../dist/src/vault/keys/operation-handlers.js";
import { unwrapRecord } from "../../../dist/src/vault/worker/record-wrapping.js";
import { deriveKek, deriveRecordKey } from "../../../dist/src/vault/worker/key-hierarchy.js";

const OPERATIONS = 1000;
const SIGNING_SPECS = ["secp256k1", "Ed25519", "P-256", "RSA-2048", "babyJubJub", "BIP39"];
/**
 * OpenSSL frees the buffers from which it reads these keys, and into which it writes new ones, without overwriting them:
 * copies may lie there until the memory is used again (THREAT-MODEL.md). What it computes with lies there reversed.
 */
const IS_DER = /^(new )?(P-256|RSA-2048)$/;
const SIGNATURES = 20;
const PREFIX_BYTES = 6;
/** Many times what a quiet machine needs: on a busy one, garbage collectors wait for their turn. */
const DEADLINE_MS = 120_000;
const PKCS8 = 0x02;
const SECRET_TAIL_BYTES = 32;
/** Where the scalar begins in a PKCS #8 of P-256, whose end is the public key. */
const P256_SCALAR_AT = 36;
const P256_BYTES = 138;
const wanted = new Map();

/** Keeps a masked copy of the bytes and overwrites them. */
function want(name, bytes) {
  const mask = randomBytes(bytes.length);
  wanted.set(name, { mask, masked: Buffer.from(bytes.map((byte, i) => byte ^ mask[i])) });
  return name;
}

function countIn(memory, { mask, masked }) {
  const prefix = Buffer.from(masked.subarray(0, PREFIX_BYTES).map((byte, i) => byte ^ mask[i]));
  let count = 0;
  for (let at = memory.indexOf(prefix); at >= 0; at = memory.indexOf(prefix, at + 1)) {
    let same = at + masked.length <= memory.length;
    for (let i = PREFIX_BYTES; same && i < masked.length; i += 1) same = memory[at + i] === (masked[i] ^ mask[i]);
    if (same) count += 1;
  }
  return count;
}

/**
 * The window through which memory is read, 4 MiB. The memory of a WebAssembly module is a mapping of its own: a window
 * inside the heap would be read into itself at an offset, which copies what lies before it again and again.
 */
const chunk = Buffer.from(new WebAssembly.Memory({ initial: 64 }).buffer);

/** Copies of each wanted value in all writable memory of this process. */
function scan() {
  globalThis.gc();
  const counts = Object.fromEntries([...wanted.keys()].map((name) => [name, 0]));
  const file = openSync("/proc/self/mem", "r");
  for (const line of readFileSync("/proc/self/maps", "latin1").split("\n")) {
    const region = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
    if (region === null || /\/store|data\.mdb|lock\.mdb/.test(line)) continue;
    const end = Number.parseInt(region[2], 16);
    for (let at = Number.parseInt(region[1], 16); at < end; at += chunk.length - 256) {
      let length = 0;
      try {
        length = readSync(file, chunk, 0, Math.min(chunk.length, end - at), at);
      } catch {
        break;
      }
      for (const [name, value] of wanted) counts[name] += countIn(chunk.subarray(0, length), value);
      chunk.fill(0);
    }
  }
  closeSync(file);
  return counts;
}

const [, , mode, folder] = process.argv;
const handedOver = join(folder, "entropy");
const entropy = mode === "make" ? randomBytes(32) : readFileSync(handedOver);
if (mode === "make") writeFileSync(handedOver, entropy, { mode: 0o600 });
else rmSync(handedOver);
const phrase = entropyPhrase(entropy);
const hash = Buffer.from(validationHash(phrase)).toString("hex");
const body = () => Buffer.concat([Buffer.from('{"key":"'), phrase, Buffer.from('"}')]);
const [unsealing, sealing] = [body(), body()];
want("phrase", phrase);
want("entropy", entropy);
phrase.fill(0);

const store = await openStore({ path: join(folder, "store") }, { log: createLog("silent") });
const vault = await createVault(
  {
    queueLengthMax: 64,
    seal: {
      settings: {
        seal_unseal_validation_hash: hash,
        seal_unseal_secret_name: "unused",
        seal_unseal_timeout_seconds: 10,
      },
    },
  },
  { store, clock: systemClock, log: createLog("silent") },
);
const owner = { kind: "user", id: "55555555-5555-4555-8555-555555555555" };
// The second body waits masked as well: it would be found otherwise.
const sealMask = randomBytes(sealing.length);
for (let i = 0; i < sealing.length; i += 1) sealing[i] ^= sealMask[i];

/** Makes a key whose name says which one is wanted. */
const newKey = async (vaultId, spec, name) => await vault.service.createKey(owner, vaultId, { spec, name });

await vault.service.unseal(owner, unsealing);
if (mode === "make") {
  const { id: vaultId } = await vault.service.createVault(owner, { name: "probe" });
  for (const spec of ["ChaCha20", ...SIGNING_SPECS]) await newKey(vaultId, spec, spec);
  await vault.stop();
  await store.close();
  process.exit(0);
}
const page = { page: 1, rpp: 100 };
const { id } = vault.service.listVaults(owner, page).body[0];
const stored = vault.service.listKeys(owner, id, page).body.filter(({ name }) => name !== "master0");
const key = stored.find(({ spec }) => spec === "ChaCha20");
for (let i = 0; i < OPERATIONS; i += 1)
  await vault.service.encrypt({ owner, vaultId: id, keyId: key.id }, Buffer.from("x"));
const signers = stored.filter((one) => one !== key);
for (const spec of SIGNING_SPECS) signers.push(await newKey(id, spec, `new ${spec}`));
const { signMessage: sign } = operationHandlers({ vault: vault.service });
const { signal } = new AbortController();
const principal = { subject: owner, permissions: 0, tokenId: "t", sessionId: "s", expiresAtSec: 0 };
for (let i = 0; i < SIGNATURES; i += 1) {
  for (const signer of signers)
    await sign({
      principal,
      params: { id, key_id: signer.id },
      query: {},
      signal,
      body: { message: "11".repeat(signer.spec === "babyJubJub" ? 31 : 32) },
    });
}

const record = store.get(["vault", owner.kind, owner.id, id]).value;
const master = store.get(["key", id, record.master_key_id]).value;
const place = {
  purpose: "mk",
  vaultId: id,
  recordId: record.master_key_id,
  metadata: { owner: `user:${owner.id}`, spec: "AES-256-GCM", type: "symmetric", usage: "encrypt/decrypt" },
};
const storeId = store.get(["seal", "sentinel"]).value.store_id;
(() => {
  const kekBytes = deriveKek(entropy, storeId).export();
  const masterKey = unwrapRecord(master.envelope, () => deriveKek(entropy, storeId), place);
  const recordKey = deriveRecordKey(masterKey, id, 1).export();
  for (const [name, bytes] of [
    ["kek", kekBytes],
    ["master_key", masterKey],
    ["record_key", recordKey],
  ]) {
    want(name, bytes);
    bytes.fill(0);
  }
  for (const made of [key, ...signers])
    wantMaterial(
      made,
      deriveRecordKey(
        unwrapRecord(master.envelope, () => deriveKek(entropy, storeId), place),
        id,
        1,
      ),
    );
  entropy.fill(0);
})();

/**
 * The material of a stored key: raw bytes, or of PKCS #8 what is secret in it; as stored, and reversed as big numbers
 * lie in memory.
 */
function wantMaterial({ id: keyId }, recordKeyObject) {
  const { name, spec, type, usage, public_key, address, envelope } = store.get(["key", id, keyId]).value;
  const metadata = {
    spec,
    type,
    usage,
    ...(public_key === undefined ? {} : { public_key }),
    ...(address === undefined ? {} : { address }),
  };
  const plaintext = unwrapRecord(envelope, () => recordKeyObject, {
    purpose: "key",
    vaultId: id,
    recordId: keyId,
    metadata,
  });
  const secret = plaintext[0] === PKCS8 ? secretOf(plaintext.subarray(1)) : Buffer.from(plaintext.subarray(1));
  plaintext.fill(0);
  want(name, secret);
  secret.reverse();
  want(`${name} reversed`, secret);
  secret.fill(0);
}

/** The scalar of P-256; of RSA the end of the last number, the CRT coefficient. */
function secretOf(pkcs8) {
  const at = pkcs8.length === P256_BYTES ? P256_SCALAR_AT : pkcs8.length - SECRET_TAIL_BYTES;
  return Buffer.from(pkcs8.subarray(at, at + SECRET_TAIL_BYTES));
}

await pause(200);
const unsealed = scan();
for (let i = 0; i < sealing.length; i += 1) sealing[i] ^= sealMask[i];
await vault.service.seal(owner, sealing);
const sealedAtMs = performance.now();
let sealed = scan();
const isFound = ([name, count]) => count > 0 && !IS_DER.test(name);
while (Object.entries(sealed).some(isFound) && performance.now() - sealedAtMs < DEADLINE_MS) {
  await pause(250);
  sealed = scan();
}
await vault.stop();
await store.close();
const found = Object.entries(sealed).filter(isFound);
process.stdout.write(`${JSON.stringify({ unsealed, wanted: Object.keys(sealed), found })}\n`);

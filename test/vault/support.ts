/** A vault over a real store and a real worker thread, in a temporary folder, with a clock that tests move. */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { AppError, type ErrorCode } from "../../src/platform/errors.js";
import type { Subject, SubjectKind } from "../../src/platform/auth/principal.js";
import type { Clock } from "../../src/platform/clock.js";
import { createLog } from "../../src/platform/log.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import type { Store } from "../../src/platform/store/store.js";
import type { CipherBatchInput, DeriveKeyInput } from "../../src/vault/keys/operation-schemas.js";
import type { VaultRequest, VaultTaskRunner } from "../../src/vault/protocol.js";
import { VaultRepository } from "../../src/vault/repository.js";
import type { KeyJson } from "../../src/vault/schemas.js";
import { SealAttempts } from "../../src/vault/seal/seal-attempts.js";
import { environmentSealProvider } from "../../src/vault/seal/providers/environment.js";
import type { SealProvider } from "../../src/vault/seal/providers/provider.js";
import { VaultSeal } from "../../src/vault/seal/seal.js";
import { VaultService } from "../../src/vault/service.js";
import { VaultWorkers } from "../../src/vault/threads/vault-workers.js";
import { KeyObjects } from "../../src/vault/worker/key-objects.js";
import { Keyring } from "../../src/vault/worker/keyring.js";
import { createVaultTasks } from "../../src/vault/worker/tasks.js";
import { newFolder } from "../support/temporary-folder.js";

export const PHRASE =
  "legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth title";
export const PHRASE_HASH = "3b1c5e02107409ea60548d8d8f686fd8d722791f3618deb1f9eb1e9f5c02cd35";
export const OTHER_PHRASE = `${"abandon ".repeat(23)}art`;
export const OTHER_HASH = "69be79ef3c28f55d7cb84db2dd3c18dfff45eeefebd09b8c5f7f3489b8ba09ac";
export const PAGE = { page: 1, rpp: 25 };

/** A clock that the test moves. */
export class TestClock implements Clock {
  ms = Date.UTC(2026, 0, 1);

  nowMs(): number {
    return this.ms;
  }

  monotonicMs(): number {
    return this.ms;
  }
}

export interface TestVault {
  readonly folder: string;
  readonly store: Store;
  readonly worker: VaultTaskRunner;
  readonly seal: VaultSeal;
  readonly vault: VaultService;
  readonly clock: TestClock;
  /** Closes everything; the folder goes with the last close unless kept. */
  close(options?: { keep: boolean }): Promise<void>;
}

export interface TestVaultOptions {
  readonly provider?: SealProvider;
  readonly folder?: string;
  readonly unsealed?: boolean;
  /** Runs the vault's tasks on the calling thread, for tests of something else: starting threads takes 0.3 s. */
  readonly isOnThisThread?: boolean;
  readonly wrapWorker?: (worker: VaultTaskRunner) => VaultTaskRunner;
  readonly wrapStore?: (store: Store) => Store;
  readonly onUnsealed?: () => void;
  /** The key of the audit log, where a test has one. */
  readonly chainKey?: Uint8Array;
}

export async function openTestVault(options: TestVaultOptions = {}): Promise<TestVault> {
  const folder = options.folder ?? newFolder("vault");
  const log = createLog("silent");
  const opened = await openStore(
    {
      path: folder,
      mapBytes: 64 * 2 ** 20,
      reserveBytes: 2 ** 20,
      ...(options.chainKey === undefined ? {} : { chainKey: options.chainKey }),
    },
    { log },
  );
  const store = options.wrapStore?.(opened) ?? opened;
  const thread = options.isOnThisThread === true ? inThisThread() : new VaultWorkers({ queueLengthMax: 256 }, { log });
  const worker = options.wrapWorker?.(thread) ?? thread;
  const clock = new TestClock();
  const seal = new VaultSeal(
    { provider: options.provider ?? environmentSealProvider({ validationHash: PHRASE_HASH }) },
    { store, worker, clock, log, ...(options.onUnsealed === undefined ? {} : { onUnsealed: options.onUnsealed }) },
  );
  const vault = new VaultService({
    repository: new VaultRepository({ store }),
    seal,
    attempts: new SealAttempts({ clock }),
    clock,
  });
  if (options.unsealed !== false) await seal.unseal(Buffer.from(PHRASE));
  return {
    folder,
    store,
    worker,
    seal,
    vault,
    clock,
    close: async (closing) => {
      await thread.stop();
      await opened.close();
      if (closing?.keep !== true) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Encrypts one item and returns the frame as hex. */
export async function encryptText(
  { vault }: Pick<TestVault, "vault">,
  owner: Subject,
  vaultId: string,
  keyId: string,
  input: CipherBatchInput,
): Promise<string> {
  const { text } = await vault.operations.encrypt({ owner, vaultId, keyId }, input);
  return (JSON.parse(text as string) as { data: string }).data;
}

/** Decrypts one item and returns its plaintext. */
export async function decryptText(
  { vault }: Pick<TestVault, "vault">,
  owner: Subject,
  vaultId: string,
  keyId: string,
  input: CipherBatchInput,
): Promise<string> {
  return ((await vault.operations.decrypt({ owner, vaultId, keyId }, input)) as { data: string }).data;
}

/** Derives one item and returns the key. */
export async function deriveKey(
  { vault }: Pick<TestVault, "vault">,
  owner: Subject,
  vaultId: string,
  keyId: string,
  input: DeriveKeyInput,
): Promise<KeyJson> {
  return (await vault.derivation.derive({ owner, vaultId, keyId }, input)) as KeyJson;
}

export function subject(kind: SubjectKind = "user"): Subject {
  return { kind, id: randomUUID() };
}

/** Body bytes of a seal or unseal request. */
export function sealBody(phrase: string): Buffer {
  return Buffer.from(JSON.stringify({ key: phrase }));
}

/** The code that a call fails with, or "fulfilled". */
export async function codeOf(run: () => unknown): Promise<ErrorCode | "fulfilled"> {
  try {
    await run();
    return "fulfilled";
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

/** The tasks of the vault's threads, without threads. */
function inThisThread(): VaultTaskRunner {
  const nowMs = (): number => performance.now();
  const open = (): ReturnType<typeof createVaultTasks> =>
    createVaultTasks(new Keyring({ nowMs }), new KeyObjects({ nowMs }));
  let runTask = open();
  return {
    run: async (task, message) => (await runTask({ task, message } as VaultRequest)) as never,
    recycle: async () => {
      runTask = open();
    },
    stop: async () => {
      runTask = open();
    },
  };
}

// The root keys of a worker: how long record keys stay, and what locking drops.
import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/platform/errors.js";
import type { VaultReference } from "../../../src/vault/protocol.js";
import { Keyring } from "../../../src/vault/worker/keyring.js";

const MINUTE_MS = 60_000;
const CACHED_MAX = 1_000;

/** An unlocked keyring, and a clock that the test moves. */
function unlocked(): { keyring: Keyring; clock: { ms: number } } {
  const clock = { ms: 1 };
  const keyring = new Keyring({ nowMs: () => clock.ms });
  keyring.unlock(randomBytes(32), randomUUID());
  return { keyring, clock };
}

function newVault(keyring: Keyring): VaultReference {
  const vault = { vaultId: randomUUID(), owner: `user:${randomUUID()}`, masterKeyId: randomUUID() };
  return { ...vault, masterEnvelope: keyring.wrapMasterKey(vault, randomBytes(32)), generation: 1 };
}

describe("record keys", () => {
  it("are kept while they are used, and dropped after four idle minutes and a sweep", () => {
    const { keyring, clock } = unlocked();
    const vault = newVault(keyring);
    const key = keyring.recordKey(vault, 1);
    for (let minute = 0; minute < 10; minute += 1) {
      clock.ms += 3 * MINUTE_MS;
      keyring.dropIdle();
      expect(keyring.recordKey(vault, 1)).toBe(key);
    }
    clock.ms += 4 * MINUTE_MS + 1;
    keyring.dropIdle();
    const again = keyring.recordKey(vault, 1);
    expect(again).not.toBe(key);
    expect(again.equals(key)).toBe(true);
  });

  it("are kept for a thousand vaults, the least recently used first to go", () => {
    const { keyring } = unlocked();
    const vaults = Array.from({ length: CACHED_MAX }, () => newVault(keyring));
    const keys = vaults.map((vault) => keyring.recordKey(vault, 1));
    expect(keyring.recordKey(vaults[0]!, 1)).toBe(keys[0]);
    keyring.recordKey(newVault(keyring), 1);
    expect(keyring.recordKey(vaults[0]!, 1)).toBe(keys[0]);
    expect(keyring.recordKey(vaults[1]!, 1)).not.toBe(keys[1]);
  });

  it("are another key for another generation, and none for another owner or master key, though one is kept", () => {
    const { keyring } = unlocked();
    const [vault, other] = [newVault(keyring), newVault(keyring)];
    const key = keyring.recordKey(vault, 1);
    expect(keyring.recordKey(vault, 2).equals(key)).toBe(false);
    for (const changed of [
      { ...vault, owner: other.owner },
      { ...vault, masterKeyId: other.masterKeyId },
      { ...vault, masterEnvelope: other.masterEnvelope },
    ])
      expect(() => keyring.recordKey(changed, 1)).toThrow("fails its integrity check");
  });

  it("of a forgotten vault are dropped, and no other's", () => {
    const { keyring } = unlocked();
    const [vault, other] = [newVault(keyring), newVault(keyring)];
    const [key, otherKey] = [keyring.recordKey(vault, 1), keyring.recordKey(other, 1)];
    keyring.forgetVault(vault.vaultId);
    expect(keyring.recordKey(vault, 1)).not.toBe(key);
    expect(keyring.recordKey(other, 1)).toBe(otherKey);
  });

  it("are gone with the seal entropy once the keyring is locked", () => {
    const { keyring } = unlocked();
    const vault = newVault(keyring);
    keyring.recordKey(vault, 1);
    keyring.lock();
    expect(() => keyring.recordKey(vault, 1)).toThrow(AppError);
    expect(() => newVault(keyring)).toThrow("the vault is sealed");
  });
});

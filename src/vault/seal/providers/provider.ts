/** The source of the seal key. One file per provider implements this; seal.ts does not know which one runs. */

export interface SealProvider {
  /** The value of SEAL_UNSEAL_PROVIDER. */
  readonly name: string;
  /**
   * True when a seal key can be recognised. False: the vault is unconfigured and cannot be unsealed.
   */
  readonly isConfigured: boolean;
  /** SHA-256 of the canonical phrase, or undefined where the provider is trusted and the sentinel decides. */
  readonly validationHash: Uint8Array | undefined;
  /**
   * Whether people hold the seal key, so that POST /unsealerkey may make keys for other instances. False: the provider
   * keeps the key, and no person needs it.
   */
  readonly issuesKeys: boolean;
  /**
   * Returns the phrase for automatic unsealing, as bytes that the caller wipes; undefined when people unseal by hand.
   * Rejects when the source cannot be read.
   */
  readKey(): Promise<Uint8Array | undefined>;
}

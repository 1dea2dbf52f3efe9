/**
 * Signing keys that are made when they are first needed. Two RSA keys take 0.3 s of processor time, and only OpenID
 * Connect needs them. A file that is there is opened at the start, so that damage shows then.
 */
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import { openSigningKeys, type SigningKeys, type SigningKeysOptions } from "./signing-keys.js";

export class SigningKeysOnDemand {
  readonly #options: SigningKeysOptions;
  readonly #dependencies: { readonly clock: Clock; readonly log: Log };
  #opening: Promise<SigningKeys> | undefined;
  #isWatching = false;

  constructor(options: SigningKeysOptions, dependencies: { readonly clock: Clock; readonly log: Log }) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  /**
   * Opens the keys, and makes them where there are none; later calls return the same. After a failure, the next call
   * tries again.
   * @throws PrivateFileError when the file is damaged or other users can read it
   */
  async open(): Promise<SigningKeys> {
    this.#opening ??= this.#openNow();
    return await this.#opening;
  }

  /**
   * Opens the keys if their file is there.
   * @throws PrivateFileError as `open`
   */
  async openIfMade(): Promise<void> {
    if ((await this.#options.file.version()) !== undefined) await this.open();
  }

  /** Reloads the file every few seconds, as SigningKeys.startWatching, from when the keys are open. */
  startWatching(): void {
    this.#watch(true);
  }

  /** Ends `startWatching`. */
  stopWatching(): void {
    this.#watch(false);
  }

  async #openNow(): Promise<SigningKeys> {
    try {
      const keys = await openSigningKeys(this.#options, this.#dependencies);
      if (this.#isWatching) keys.startWatching();
      return keys;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  #watch(isWatching: boolean): void {
    this.#isWatching = isWatching;
    this.#opening?.then(
      (keys) => {
        if (this.#isWatching) keys.startWatching();
        else keys.stopWatching();
      },
      // Whoever opened them has got the failure.
      () => undefined,
    );
  }
}

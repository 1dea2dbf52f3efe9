/** Where a binary has to run, in npm's words. */
export interface NativeSystem {
  readonly os: string;
  readonly cpu: string;
  readonly libc?: string | undefined;
}

/** Returns the names of the needed native packages that fit a system and are not there. */
export function missingParts(
  packages: Readonly<Record<string, object>>,
  system: NativeSystem,
  isThere: (path: string) => boolean,
): string[];

/** Adds the missing native packages under the root of the repository. */
export function addNativeParts(root: string): void;

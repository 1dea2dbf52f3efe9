/** Which provers wait for the contributions of their ceremony. */

interface MayWait {
  readonly status: string;
  readonly build: {
    readonly has_ceremony?: boolean;
    readonly artifacts: { readonly [name: string]: unknown };
  };
}

/** Returns whether a prover waits for contributions, so that no job has anything to do. */
export function isInCeremony({ status, build }: MayWait): boolean {
  return build.has_ceremony === true && status === "running_setup" && build.artifacts["proving_key"] === undefined;
}

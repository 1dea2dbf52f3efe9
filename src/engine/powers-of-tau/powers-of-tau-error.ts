/** The named errors of powers-of-tau files: every file that is refused is refused with one of them. */

/** Why a file is refused; the message of each code says what to do about it. */
export type PowersOfTauFault =
  | "not_powers_of_tau"
  | "truncated"
  | "trailing_bytes"
  | "section_missing"
  | "section_repeated"
  | "section_size"
  | "header_invalid"
  | "curve_unsupported"
  | "power_unsupported"
  | "point_not_canonical"
  | "point_at_infinity"
  | "point_not_on_curve"
  | "point_outside_subgroup"
  | "generator_missing"
  | "secret_trivial"
  | "powers_inconsistent"
  | "beta_inconsistent"
  | "lagrange_inconsistent"
  | "no_contribution"
  | "contributions_malformed"
  | "contribution_invalid"
  | "challenge_inconsistent";

/** The file is not a powers-of-tau file that may be used. */
export class PowersOfTauError extends Error {
  override readonly name = "PowersOfTauError";
  readonly fault: PowersOfTauFault;

  constructor(fault: PowersOfTauFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

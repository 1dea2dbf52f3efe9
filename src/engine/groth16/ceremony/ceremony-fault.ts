/** The named errors of a ceremony's files: every contribution that is refused is refused with one of them. */

/** Why a key is not what a ceremony may go on with. */
export type CeremonyFault =
  | "not_a_key"
  | "curve_unsupported"
  | "circuit_differs"
  | "history_differs"
  | "contribution_missing"
  | "contribution_extra"
  | "contribution_malformed"
  | "transcript_inconsistent"
  | "point_outside_subgroup"
  | "proof_of_knowledge_invalid"
  | "delta_inconsistent"
  | "delta_trivial"
  | "beacon_invalid"
  | "point_not_canonical"
  | "point_not_on_curve"
  | "infinity_differs"
  | "points_inconsistent"
  | "name_unsupported"
  | "document_malformed";

/** A key that does not go on with the ceremony, or a contribution that cannot be made. */
export class CeremonyError extends Error {
  override readonly name = "CeremonyError";
  readonly fault: CeremonyFault;

  constructor(fault: CeremonyFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

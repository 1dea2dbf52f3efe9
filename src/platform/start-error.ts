/** The server or a command cannot start or go on for a reason that the operator can mend. */

/** The message is a whole sentence for the operator, shown without a stack. */
export class StartError extends Error {
  override readonly name: string = "StartError";
}

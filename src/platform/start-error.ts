/**
 * The server or a command cannot start or continue, for a reason that the operator can fix. The message is a sentence
 * for the operator and is shown without a stack.
 */
export class StartError extends Error {
  override readonly name: string = "StartError";
}

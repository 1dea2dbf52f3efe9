/** The commands of the client, parsed by commander; what each does loads when it runs. */
import { Command, CommanderError } from "commander";
import { AppError } from "../../platform/errors.js";
import { StartError } from "../../platform/start-error.js";
import { ApiError, ConnectionError, ProvisioningError, TimeoutError } from "../../sdk/errors.js";
import { NotSignedInError, type ClientFlags } from "./signed-in.js";

/** Exit statuses; `1` also tells that a circuit does not compile or a proof is not valid. */
const EXIT = { failed: 1, usage: 2, refused: 3, notSignedIn: 4, unreachable: 5 } as const;
const EXIT_HELP = `
Exit status: 0 done; 1 the answer is no (a proof is not valid, a circuit does not compile); 2 wrong use; 3 the server refuses;
4 not logged in; 5 the server cannot be reached, or is too busy.`;

/**
 * Runs a command of the client, and returns its exit status. What fails is one sentence on standard error.
 * @param args the command's name and what follows
 */
export async function runClientCommand(args: readonly string[]): Promise<number> {
  let status = 0;
  const program = createProgram((result) => {
    status = result;
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return status;
  } catch (error) {
    // Commander has printed its own sentence, or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.usage;
    const known = exitStatus(error);
    if (known === undefined) throw error;
    process.stderr.write(`proofwright: ${sentenceOf(error)}\n`);
    return known;
  }
}

/** Returns the exit status of a failure; undefined for one that nobody has designed. */
export function exitStatus(error: unknown): number | undefined {
  if (error instanceof NotSignedInError) return EXIT.notSignedIn;
  if (error instanceof ProvisioningError) return EXIT.failed;
  if (error instanceof ConnectionError || error instanceof TimeoutError) return EXIT.unreachable;
  if (error instanceof ApiError) {
    if (error.status === 401 || error.code === "invalid_grant") return EXIT.notSignedIn;
    return error.status === 429 || error.status >= 500 ? EXIT.unreachable : EXIT.refused;
  }
  if (error instanceof StartError || error instanceof AppError) return EXIT.usage;
  return error instanceof Error && "code" in error && "syscall" in error ? EXIT.usage : undefined;
}

function sentenceOf(error: unknown): string {
  if (error instanceof ProvisioningError) return error.errors.map(({ message }) => message).join("\n");
  const text = error instanceof Error ? error.message : String(error);
  const id = error instanceof ApiError && error.requestId !== undefined ? ` (request ${error.requestId})` : "";
  return `${text.replace(/\.$/, "")}${id}.`;
}

function createProgram(settle: (status: number) => void): Command {
  const program = new Command("proofwright").exitOverride();
  program.configureHelp({ showGlobalOptions: false });
  addLogin(program, settle);
  addCircuits(program, settle);
  addProofs(program, settle);
  return program;
}

/** Adds a command with the flags of all of them. */
function add(parent: Command, usage: string, summary: string): Command {
  return parent
    .command(usage)
    .description(summary)
    .option("--profile <name>", "the login to use (default: default)")
    .option("--server <url>", "the server; that of the profile unless given")
    .option("--json", "print JSON for machines")
    .allowExcessArguments(false)
    .addHelpText("after", EXIT_HELP);
}

function addLogin(program: Command, settle: (status: number) => void): void {
  add(program, "login", "log in, and keep the tokens; the password is asked for, or a line from a pipe")
    .requiredOption("--email <address>", "of the user")
    .action(async (flags: ClientFlags & { email: string }) => {
      settle(await (await import("./login-commands.js")).runLogin(flags));
    });
  add(program, "logout", "end the session, and forget its tokens").action(async (flags: ClientFlags) => {
    settle(await (await import("./login-commands.js")).runLogout(flags));
  });
  add(program, "whoami", "say who is logged in").action(async (flags: ClientFlags) => {
    settle(await (await import("./login-commands.js")).runWhoAmI(flags));
  });
}

function addCircuits(program: Command, settle: (status: number) => void): void {
  const circuit = program.command("circuit").description("deploy circuits from folders with a proofwright.json");
  add(circuit, "init [folder]", "write a proofwright.json and a first circuit").action(
    async (folder: string | undefined, flags: ClientFlags) => {
      settle(await (await import("./circuit-commands.js")).runCircuitInit(folder ?? ".", flags));
    },
  );
  add(circuit, "check [folder]", "compile the circuit on this machine").action(
    async (folder: string | undefined, flags: ClientFlags) => {
      settle(await (await import("./circuit-commands.js")).runCircuitCheck(folder ?? ".", flags));
    },
  );
  add(circuit, "deploy [folder]", "make a prover of the folder; the same source again changes nothing").action(
    async (folder: string | undefined, flags: ClientFlags) => {
      settle(await (await import("./circuit-commands.js")).runCircuitDeploy(folder ?? ".", flags));
    },
  );
  add(circuit, "list", "list the provers").action(async (flags: ClientFlags) => {
    settle(await (await import("./circuit-commands.js")).runCircuitList(flags));
  });
  add(circuit, "schema", "print the JSON schema of proofwright.json").action(async () => {
    settle((await import("./circuit-commands.js")).printManifestSchema());
  });
}

function addProofs(program: Command, settle: (status: number) => void): void {
  add(program, "prove <prover>", "make a proof; the prover is named by its id or name:tag")
    .requiredOption("--inputs <file>", "JSON of the inputs by signal name; /dev/stdin for a pipe")
    .option("--output <file>", "write the proof there; standard output unless given")
    .action(async (prover: string, flags: ClientFlags & { inputs: string; output?: string }) => {
      settle(await (await import("./proof-commands.js")).runProve(prover, flags));
    });
  add(program, "verify <prover>", "verify a proof")
    .requiredOption("--proof <file>", "what `prove` printed")
    .option("--inputs <file>", "JSON of the public inputs and outputs; those in the proof's file unless given")
    .action(async (prover: string, flags: ClientFlags & { proof: string; inputs?: string }) => {
      settle(await (await import("./proof-commands.js")).runVerify(prover, flags));
    });
  const artifacts = program.command("artifacts").description("files of provers");
  add(artifacts, "pull <prover> [names...]", "download files of a prover, all unless some are named")
    .option("--to <folder>", "where they go", ".")
    .action(async (prover: string, names: string[], flags: ClientFlags & { to: string }) => {
      settle(await (await import("./proof-commands.js")).runArtifactsPull(prover, names, flags));
    });
}

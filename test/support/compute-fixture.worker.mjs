/** The compute pools' entry with accidents: the open key's id says which, for proofs that have a team. */
import { ThreadTeam } from "../../dist/src/engine/kernels/threads/thread-team.js";
import { runComputeTask } from "../../dist/src/engine/tasks.js";

/** Takes the first task and never does it, so that the leader is surely still at work when the accident happens. */
const stall = (team) =>
  new ThreadTeam(team).claim([{ name: "import", after: [], count: () => 1, run: () => undefined }]);

export default async function run(request) {
  const { team, openKey } = request.message;
  if (team !== undefined) {
    const isHelp = request.task === "help";
    switch (openKey.id) {
      case "helper dies":
        if (!isHelp) stall(team);
        else if (new ThreadTeam(team).join() !== undefined) process.exit(1);
        break;
      case "leader dies":
        if (!isHelp) process.exit(1);
        break;
      case "leader stalls":
        if (!isHelp) stall(team);
        break;
    }
  }
  return await runComputeTask(request);
}

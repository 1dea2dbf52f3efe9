/** One node of a cluster with its callers, in a process of its own. */
import { serveNode, type NodeOptions } from "../cluster/member-process.js";

await serveNode(JSON.parse(process.argv[2] ?? "") as NodeOptions);

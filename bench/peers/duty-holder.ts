/** A node of a cluster that takes a duty, and is killed. */
import { holdDuty, type MemberOptions } from "../cluster/takeover.js";

await holdDuty(JSON.parse(process.argv[2] ?? "") as MemberOptions);

/** The app in Node: `node main.js URL` prints what it saw. */
import { run } from "./app.js";

process.stdout.write(JSON.stringify(await run(process.argv[2] ?? "")));

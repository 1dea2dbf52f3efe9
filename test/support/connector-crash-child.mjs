// A process with connectors, for kill -9: makes one connector in a container when there is none, deletes it on SIGUSR2,
// and writes each status as a line. Arguments: data folder, Docker host, id of the application.
import { writeSync } from "node:fs";
import { createConnectors } from "../../dist/src/chain/connectors/create-connectors.js";
import { systemClock } from "../../dist/src/platform/clock.js";
import { AllowList } from "../../dist/src/platform/net/address-rules.js";
import { createEgressGuard } from "../../dist/src/platform/net/egress-guard.js";
import { EventLog } from "../../dist/src/platform/events/event-log.js";
import { SubscriptionTokens } from "../../dist/src/platform/events/subscription-token.js";
import { Jobs } from "../../dist/src/platform/jobs/jobs.js";
import { createLog } from "../../dist/src/platform/log.js";
import { openStore } from "../../dist/src/platform/store/lmdb/lmdb-store.js";
import { createVault } from "../../dist/src/vault/create-vault.js";

const [folder, dockerHost, id] = process.argv.slice(2);
const owner = { kind: "application", id };
const log = createLog("silent");
const store = await openStore({ path: `${folder}/store` }, { log });
const vault = await createVault(
  { queueLengthMax: 16, seal: { developmentDataDir: folder } },
  { store, clock: systemClock, log },
);
await vault.start();
const jobs = new Jobs({ retryDelayMs: 10, settleDelayMs: 10 }, { store, clock: systemClock, log });
const events = new EventLog({ eventsMax: 1000, daysMax: 1 }, { store, clock: systemClock, log });
const tokens = new SubscriptionTokens({ key: new Uint8Array(32) }, { clock: systemClock, standingOf: () => undefined });
const egress = createEgressGuard({ allow: new AllowList([]), ports: [443] });
const { service, deletions } = createConnectors(
  { dockerHost, dockerImages: "ipfs/kubo:*", containerReadyMs: 20_000 },
  {
    store,
    vault: vault.service,
    jobs,
    events,
    tokens,
    networks: { find: () => ({}) },
    hasVault: () => true,
    turnOf: ({ kind, id }) => `${kind}:${id}`,
    egress,
    clock: systemClock,
    log,
  },
);
const all = () => service.list(owner, { page: 1, rpp: 10 }).body;
if (all().length === 0) {
  await service.create(owner, {
    name: "c",
    network_id: "deca2436-21ba-4ff5-b225-ad1b0b2f5c59",
    type: "ipfs",
    config: { provider_id: "docker", credentials: { token: "secret" } },
  });
}
await jobs.start();
writeSync(1, "ready\n");
process.on("SIGUSR2", () => {
  deletions.delete(owner, all()[0].id, new AbortController().signal).catch(() => undefined);
});
let last = "";
setInterval(() => {
  const now =
    all()
      .map(({ status }) => status)
      .join(",") || "none";
  if (now !== last) writeSync(1, `${(last = now)}\n`);
}, 5);

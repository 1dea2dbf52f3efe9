// Chooses the kernels' form as a server does, in a process of its own, and prints what it and a new thread of it have.
import { Worker, getEnvironmentData, isMainThread, parentPort } from "node:worker_threads";

const wide = (file) => import(new URL(`../../dist/src/engine/kernels/wide/${file}`, import.meta.url).href);
const { WIDE_FORMS_KEY, isWideOn, useWideForms } = await wide("wide-form.js");

if (isMainThread) {
  const { KernelForm } = await import(new URL("../../dist/src/app/kernel-form.js", import.meta.url).href);
  const { ProcessTasks } = await import(new URL("../../dist/src/platform/pool/process-task.js", import.meta.url).href);
  const lines = [];
  const say = (level) => (message, fields) => lines.push({ level, message, state: fields?.state });
  const log = { error: say("error"), warn: say("warn"), info: say("info"), debug: () => undefined };
  const { BLS12_381 } = await import(new URL("../../dist/src/engine/curves/bls12-381.js", import.meta.url).href);
  const { BN254 } = await import(new URL("../../dist/src/engine/curves/bn254.js", import.meta.url).href);
  const [, , mode, isBoth] = process.argv;
  const pairings = isBoth === "both" ? [BN254, BLS12_381] : undefined;
  const { status } = await KernelForm.open({ mode, pairings }, { tasks: new ProcessTasks(), log });
  const thread = new Worker(new URL(import.meta.url));
  const inThread = await new Promise((resolve, reject) => {
    thread.once("message", resolve);
    thread.once("error", reject);
  });
  process.stdout.write(JSON.stringify({ status, inThread, lines }));
} else {
  useWideForms(getEnvironmentData(WIDE_FORMS_KEY));
  const forms = getEnvironmentData(WIDE_FORMS_KEY)?.forms ?? [];
  const kernels = {};
  for (const form of forms) (kernels[form.curve] ??= []).push(...form.kernels);
  parentPort.postMessage({ isWideOn: isWideOn(), kernels });
}

/** The form of the kernels that a server would choose on this machine: four lanes or two. */
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import { randomNonZero } from "../src/engine/field/bytes.js";
import { chooseWideForm, type WideChoice } from "../src/engine/kernels/wide/choose-form.js";
import { WIDE_FORMS_KEY, useWideForms, type WideForms } from "../src/engine/kernels/wide/wide-form.js";

let chosen: Promise<WideChoice> | undefined;

/** Chooses the form for this process and the threads that it starts afterwards, once. */
export function chooseForm(): Promise<WideChoice> {
  chosen ??= choose();
  return chosen;
}

/** Takes in a thread what the process has chosen. */
export function takeChosenForm(): void {
  useWideForms(getEnvironmentData(WIDE_FORMS_KEY) as WideForms | undefined);
}

/** Returns words for a row's note. */
export async function lanesNote(): Promise<string> {
  return (await chooseForm()).forms === undefined ? "two lanes" : "four lanes";
}

async function choose(): Promise<WideChoice> {
  const choice = await chooseWideForm({
    mode: "auto",
    host: { version: process.versions.node, arch: process.arch },
    random: (limit) => randomNonZero(limit + 1n) - 1n,
    now: () => performance.now(),
    tryInChild: () => Promise.resolve("the bench tries known versions only"),
  });
  useWideForms(choice.forms);
  setEnvironmentData(WIDE_FORMS_KEY, choice.forms);
  return choice;
}

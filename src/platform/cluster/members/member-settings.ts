/** What the settings of a cluster's nodes have to do with each other. */
import { AppError } from "../../errors.js";

/** By the name of a setting, its value. Stored in the clear, so that none of them may be a secret. */
export type SettingValues = Readonly<Record<string, string>>;

/** What a node compares with the others when it joins. */
export interface MemberSettings {
  /** Nodes that differ in one of these do not run beside each other. */
  readonly fixed: SettingValues;
  /** Nodes may differ in these for as long as an operator changes them, one node after the other. */
  readonly changeable: SettingValues;
}

/** Those of a node that answers nobody, such as a command. */
export const NO_SETTINGS: MemberSettings = { fixed: {}, changeable: {} };

/** A setting of another node that is not as it is here. */
interface Difference {
  readonly setting: string;
  readonly own: string;
  readonly other: string;
}

/**
 * Requires that another node has the same settings, as far as it knows them.
 * @throws AppError `conflict`
 */
export function requireAlike(own: SettingValues, other: SettingValues, name: string): void {
  const [first] = differences(own, other);
  if (first !== undefined) throw new AppError("conflict", { message: sentenceOf(first, "must", name) });
}

/** Returns a sentence for each setting in which another node differs. */
export function adviceOn(own: SettingValues, other: SettingValues, name: string): string[] {
  return differences(own, other).map(
    (difference) => `${sentenceOf(difference, "should", name)}: what one refuses gets through by the other`,
  );
}

/** A version of the program that compares more settings than the other's says nothing of those. */
function differences(own: SettingValues, others: SettingValues): Difference[] {
  return Object.entries(own).flatMap(([setting, value]) => {
    const other = others[setting];
    return other === undefined || other === value ? [] : [{ setting, own: value, other }];
  });
}

function sentenceOf({ setting, own, other }: Difference, must: string, name: string): string {
  const [here, there] = [JSON.stringify(own), JSON.stringify(other)];
  return `${setting} ${must} be the same on all nodes: it is ${here} here, and ${there} on the node ${name}`;
}

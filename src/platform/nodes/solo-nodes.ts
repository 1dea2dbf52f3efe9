/** A single server: nobody else shares its store, so that it has every duty and lives as long as anything does. */
import { newId } from "../ids.js";
import type { Nodes } from "./nodes.js";

/** Returns the view of the only node. */
export function soloNodes(): Nodes {
  const incarnation = newId();
  const duties = new Set<string>();
  const never = (): (() => void) => () => undefined;
  return {
    incarnation,
    count: 1,
    serving: 1,
    others: () => [],
    isAlive: (other) => other === incarnation,
    take: (duty, begin) => {
      duties.add(duty);
      begin();
    },
    has: (duty) => duties.has(duty),
    changes: () => 0,
    onEnded: never,
    onChange: never,
  };
}

/**
 * The networks that containers share, made when the first of them needs one. The engine takes one name twice from
 * requests that come at once, and then starts no container of either network; so one process makes one after the other,
 * and of two that several processes made, the younger goes.
 */
import { AppError } from "../../../platform/errors.js";
import { KeyedMutex } from "../../../platform/concurrency/keyed-mutex.js";
import { engineJson, requireStatus, type DockerEngine } from "./docker-engine.js";
import { CONNECTOR_LABEL, type NetworkBody } from "./docker-settings.js";

/** The members of an entry of `GET /networks` that are used here. */
interface Network {
  readonly Id: string;
  readonly Name: string;
  /** RFC 3339, in nanoseconds and the engine's own zone. */
  readonly Created: string;
  readonly Labels?: Readonly<Record<string, string>> | null;
}

/** Above the jobs of connectors that run at once. */
const WAITING_MAX = 64;

export class DockerNetworks {
  readonly #engine: DockerEngine;
  readonly #turns = new KeyedMutex({ waitingMax: WAITING_MAX });

  constructor(engine: DockerEngine) {
    this.#engine = engine;
  }

  /** Returns the id of a network, and makes it where there is none. */
  async idOf(body: NetworkBody, signal: AbortSignal): Promise<string> {
    return await this.#turns.run(
      body.Name,
      async () => {
        const present = await this.#find(body.Name, signal);
        if (present !== undefined) return present;
        const created = await this.#engine.ask("/networks/create", { method: "POST", json: body, signal });
        // 409: another process made the network meanwhile.
        requireStatus(created, [201, 409], "make a network");
        const made = await this.#find(body.Name, signal);
        if (made !== undefined) return made;
        throw new AppError("connector_provider_failed", { message: "the container's network was removed meanwhile" });
      },
      { signal },
    );
  }

  async #find(name: string, signal: AbortSignal): Promise<string | undefined> {
    const filters = JSON.stringify({ name: [name] });
    const answer = await this.#engine.ask("/networks", { query: { filters }, signal });
    requireStatus(answer, [200], "list networks");
    // The engine's filter takes parts of a name.
    const [oldest, ...others] = (engineJson(answer) as Network[])
      .filter((network) => network.Name === name)
      .sort((one, other) => Date.parse(one.Created) - Date.parse(other.Created) || (one.Id < other.Id ? -1 : 1));
    const made = others.filter(({ Labels: labels }) => labels?.[CONNECTOR_LABEL] !== undefined);
    // The engine keeps one that a container is in.
    for (const { Id: id } of made) await this.#engine.ask(`/networks/${id}`, { method: "DELETE", signal });
    return oldest?.Id;
  }
}

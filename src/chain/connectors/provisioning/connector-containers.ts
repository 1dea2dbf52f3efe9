/** What a provider says about the containers of a connector: nodes, published endpoints and logs. */
import type { Subject } from "../../../platform/auth/principal.js";
import type { ConnectorRepository, StoredConnector } from "../connector-repository.js";
import type { ContainerLogs, ContainerNode, LoadBalancer } from "../connector-schemas.js";
import { providerOf } from "./container-specification.js";
import type { ContainerProvider } from "../providers/provider.js";

export class ConnectorContainers {
  readonly #repository: ConnectorRepository;
  readonly #providers: ReadonlyMap<string, ContainerProvider>;

  constructor(dependencies: {
    readonly repository: ConnectorRepository;
    readonly providers: ReadonlyMap<string, ContainerProvider>;
  }) {
    this.#repository = dependencies.repository;
    this.#providers = dependencies.providers;
  }

  /** Returns the containers of a connector; none for one that is reached at an address. */
  async nodes(owner: Subject, id: string, signal: AbortSignal): Promise<ContainerNode[]> {
    const { provider, connector } = this.#find(owner, id);
    if (provider === undefined) return [];
    const { network_id: networkId, config } = connector;
    return await provider.nodes(id, { applicationId: owner.id, networkId, role: config.role ?? "peer" }, signal);
  }

  /** Returns the endpoints that the containers publish. */
  async loadBalancers(owner: Subject, id: string, signal: AbortSignal): Promise<LoadBalancer[]> {
    return (await this.#find(owner, id).provider?.endpoints(id, signal)) ?? [];
  }

  /** Returns the newest lines of the containers' logs, oldest first. */
  async logs(owner: Subject, id: string, lines: number, signal: AbortSignal): Promise<ContainerLogs> {
    const logs = (await this.#find(owner, id).provider?.logs(id, lines, signal)) ?? [];
    return { logs, prev_token: null, next_token: null };
  }

  #find(
    owner: Subject,
    id: string,
  ): { readonly connector: StoredConnector; readonly provider: ContainerProvider | undefined } {
    const connector = this.#repository.require(owner, id).value;
    return { connector, provider: providerOf(connector, this.#providers) };
  }
}

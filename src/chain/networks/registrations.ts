/**
 * Registrations: records that an application stores about its networks, such as oracles and bridges. They are stored
 * and listed; nothing in them is fetched. Each kind is a row of the table of kinds.
 */
import { ownerKey, type Principal, type Subject } from "../../platform/auth/principal.js";
import { requireSaidOwner, type RequireTenant, type SaidOwner } from "../../platform/auth/said-owner.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { keepingAnswer, type Once } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import { AppError, notFound } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { References } from "../../platform/references.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import {
  defineTable,
  mergeCommits,
  retryOnConflict,
  type Page,
  type Table,
  type TableRow,
} from "../../platform/store/tables.js";
import type { Prices } from "./prices.js";
import type {
  BridgeJson,
  CreateBridgeInput,
  CreateOracleInput,
  OracleJson,
  registrationRoutes,
} from "./registration-routes.js";

interface NewRow extends TableRow {
  readonly application_id: string;
}

interface RegistrationRow extends NewRow {
  readonly network_id: string;
  readonly name: string;
}

interface RegistrationFilters {
  readonly network_id?: string | undefined;
  readonly name?: string | undefined;
}

interface Listed<Row> {
  readonly body: Row[];
  readonly total: number;
}

/** One kind of registration. */
interface RegistrationKind<Input extends { readonly network_id: string }, Row extends RegistrationRow> {
  /** One word, for keys of the store and for messages. */
  readonly name: string;
  /** Returns the record that a request asks for, with a default for each member that it leaves out. */
  readonly rowOf: (made: NewRow, input: Input) => Row;
}

export type Oracles = Registrations<CreateOracleInput, OracleJson>;
export type Bridges = Registrations<CreateBridgeInput, BridgeJson>;

export const REGISTRATION_KINDS: {
  readonly oracle: RegistrationKind<CreateOracleInput, OracleJson>;
  readonly bridge: RegistrationKind<CreateBridgeInput, BridgeJson>;
} = {
  oracle: {
    name: "oracle",
    rowOf: (made, input) => ({
      ...made,
      contract_id: null,
      feed_url: null,
      params: null,
      attachment_ids: [],
      ...contentOf(input),
    }),
  },
  bridge: {
    name: "bridge",
    rowOf: (made, input) => ({
      ...made,
      destination_network_id: null,
      contract_id: null,
      type: null,
      description: null,
      params: null,
      ...contentOf(input),
    }),
  },
};

/** What an application states, without whose it says it is. */
function contentOf<Input extends SaidOwner>(input: Input): Omit<Input, keyof SaidOwner> {
  const { user_id: _user, application_id: _application, organization_id: _organization, ...content } = input;
  return content;
}

/** Registrations of one kind and application. */
const REGISTRATIONS_MAX = 1_000;

/** The registrations of one kind. */
export class Registrations<Input extends { readonly network_id: string }, Row extends RegistrationRow> {
  readonly #kind: RegistrationKind<Input, Row>;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #table: Table<Row, "owner" | "network", never>;

  constructor(kind: RegistrationKind<Input, Row>, { store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#kind = kind;
    this.#store = store;
    this.#clock = clock;
    const ownerOf = ({ application_id }: Row): readonly [string, string] => ["application", application_id];
    this.#table = defineTable<Row, "owner" | "network">(
      {
        name: `chain_${kind.name}`,
        key: (row) => [...ownerOf(row), row.id],
        indexes: { owner: ownerOf, network: (row) => [...ownerOf(row), row.network_id] },
      },
      { store },
    );
  }

  /** Stores a registration, in one commit with what `keep` returns of it. Throws `network_limit_reached`. */
  async create(owner: Subject, input: Input, keep?: (made: Row) => StoreCommit): Promise<Row> {
    if (this.#table.count("owner", ownerKey(owner)) >= REGISTRATIONS_MAX)
      throw new AppError("network_limit_reached", {
        message: `an application has at most ${String(REGISTRATIONS_MAX)} ${this.#kind.name}s`,
      });
    const made = { id: newId(), created_at: isoTimestamp(this.#clock.nowMs()), application_id: owner.id };
    const row = this.#kind.rowOf(made, input);
    await this.#store.commit(mergeCommits(this.#table.insertCommit(row), keep?.(row) ?? {}));
    return row;
  }

  /** Returns one page, oldest first, of one network or of all, and of one name or of all. */
  list(owner: Subject, { network_id: networkId, name, ...page }: RegistrationFilters & Page): Listed<Row> {
    const options = { page, ...(name === undefined ? {} : { filter: (row: Row) => row.name === name }) };
    const { rows, total } =
      networkId === undefined
        ? this.#table.list("owner", ownerKey(owner), options)
        : this.#table.list("network", [...ownerKey(owner), networkId], options);
    return { body: rows, total };
  }

  /** Returns a registration. Throws `not_found`. */
  get(owner: Subject, id: string): Row {
    return this.#find(owner, id).value;
  }

  /** Deletes a registration. Throws `not_found`. */
  async delete(owner: Subject, id: string): Promise<void> {
    await retryOnConflict(async () => {
      await this.#store.commit(this.#table.deleteCommit(this.#find(owner, id)));
    });
  }

  /** Deletes all registrations of an owner. */
  async purge(owner: Subject): Promise<void> {
    for (;;) {
      const records = this.#table.records("owner", ownerKey(owner), { page: 1, rpp: 100 });
      if (records.length === 0) return;
      await this.#store.commit(mergeCommits(...records.map((record) => this.#table.deleteCommit(record))));
    }
  }

  #find(owner: Subject, id: string) {
    const found = this.#table.get([...ownerKey(owner), id]);
    if (found === undefined) throw notFound(this.#kind.name);
    return found;
  }
}

/** Returns the handlers of all routes in registration-routes.ts. */
export function registrationHandlers(dependencies: {
  readonly oracles: Oracles;
  readonly bridges: Bridges;
  readonly prices: Prices;
  readonly requireTenant: RequireTenant;
  readonly references: References;
}): HandlersFor<typeof registrationRoutes> {
  const oracles = handlersOf(dependencies.oracles, dependencies);
  const bridges = handlersOf(dependencies.bridges, dependencies);
  return {
    listOracles: oracles.list,
    createOracle: oracles.create,
    getOracle: oracles.get,
    deleteOracle: oracles.delete,
    listBridges: bridges.list,
    createBridge: bridges.create,
    getBridge: bridges.get,
    deleteBridge: bridges.delete,
    getPrices: async () => ({ status: 200, body: await dependencies.prices.read() }),
  };
}

interface Creation<Input> {
  readonly principal: Principal;
  readonly body: Input & SaidOwner;
  readonly once?: Once | undefined;
}

interface ById {
  readonly principal: Principal;
  readonly params: { readonly id: string };
}

function handlersOf<Input extends { readonly network_id: string }, Row extends RegistrationRow>(
  registrations: Registrations<Input, Row>,
  { requireTenant, references }: { readonly requireTenant: RequireTenant; readonly references: References },
) {
  return {
    list: ({ principal, query }: { principal: Principal; query: Page & RegistrationFilters }) => ({
      status: 200 as const,
      ...registrations.list(principal.subject, query),
    }),
    create: async ({ principal, body, once }: Creation<Input>) => {
      requireSaidOwner(principal, body, requireTenant);
      references.require(principal.subject, body, ["network_id", "destination_network_id", "contract_id"]);
      const answer = (made: Row) => ({ status: 201, body: made }) as const;
      return answer(await registrations.create(principal.subject, body, keepingAnswer(once, answer)));
    },
    get: ({ principal, params }: ById) => ({
      status: 200 as const,
      body: registrations.get(principal.subject, params.id),
    }),
    delete: async ({ principal, params }: ById) => {
      await registrations.delete(principal.subject, params.id);
      return { status: 204 as const };
    },
  };
}

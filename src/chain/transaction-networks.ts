/** Networks as transactions see them: the policy for fees and confirmations comes from the record's config. */
import { chainIdOf, type Networks } from "./networks.js";
import type { TransactionNetworks } from "./transactions/ports.js";

/** On proof-of-stake chains a reorganisation of that depth has not been seen; a record's config may say otherwise. */
const CONFIRMATIONS = 12;

export function transactionNetworks(networks: Networks): TransactionNetworks {
  return {
    find: (owner, networkId) => {
      const record = networks.find(owner, networkId);
      const { confirmations, max_fee_per_gas: fee, max_priority_fee_per_gas: tip } = record.config;
      return {
        id: record.id,
        chainId: chainIdOf(record),
        rpc: networks.rpc(record),
        confirmations: confirmations ?? CONFIRMATIONS,
        ...(fee === undefined ? {} : { maxFeePerGas: BigInt(fee) }),
        ...(tip === undefined ? {} : { maxPriorityFeePerGas: BigInt(tip) }),
      };
    },
  };
}

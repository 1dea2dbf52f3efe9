/** The room of the chain: networks, accounts, contracts, transactions. */
import { Head, Tabs } from "../parts/ui.js";
import { AccountsTab } from "./accounts-tab.js";
import { ContractPage } from "./contract-page.js";
import { ContractsTab } from "./contracts-tab.js";
import { NetworkPage } from "./network-page.js";
import { NetworksTab } from "./networks-tab.js";
import { TransactionPage } from "./transaction-page.js";
import { TransactionsTab } from "./transactions-tab.js";

const TABS = [
  ["", "Networks"],
  ["accounts", "Accounts"],
  ["contracts", "Contracts"],
  ["transactions", "Transactions"],
] as const;

/** Shows the page that the address names. */
export function ChainRoom({ words }: { readonly words: readonly string[] }) {
  const [tab = "", id] = words;
  if (id !== undefined) {
    if (tab === "contracts") return <ContractPage key={id} id={id} />;
    if (tab === "transactions") return <TransactionPage key={id} id={id} />;
    return <NetworkPage key={id} id={id} />;
  }
  return (
    <>
      <Head title="Chain" />
      <Tabs label="Chain" base="/chain" tabs={TABS} current={tab} />
      {tab === "accounts" ? (
        <AccountsTab />
      ) : tab === "contracts" ? (
        <ContractsTab />
      ) : tab === "transactions" ? (
        <TransactionsTab />
      ) : (
        <NetworksTab />
      )}
    </>
  );
}

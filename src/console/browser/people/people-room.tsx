/** The room of the people: users, organizations, applications, tokens and sessions. */
import { Head, Tabs } from "../parts/ui.js";
import { TenantsTab } from "./tenants-tab.js";
import { TokensTab } from "./tokens-tab.js";
import { UsersTab } from "./users-tab.js";

const TABS = [
  ["", "Users"],
  ["organizations", "Organizations"],
  ["applications", "Applications"],
  ["tokens", "Tokens and sessions"],
] as const;

/** Shows the page that the address names. */
export function PeopleRoom({ words, userId }: { readonly words: readonly string[]; readonly userId: string }) {
  const [tab = ""] = words;
  return (
    <>
      <Head title="People" />
      <Tabs label="People" base="/people" tabs={TABS} current={tab} />
      {tab === "tokens" ? (
        <TokensTab userId={userId} />
      ) : tab === "organizations" || tab === "applications" ? (
        <TenantsTab key={tab} kind={tab} />
      ) : (
        <UsersTab userId={userId} />
      )}
    </>
  );
}

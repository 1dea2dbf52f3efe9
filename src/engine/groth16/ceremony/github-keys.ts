/**
 * The SSH keys that GitHub publishes for people, as `https://github.com/NAME.keys` has them, against the keys that
 * signed the statements of contributors who said that they are these people.
 */

/** By the name in lower case, the published keys: kind and base64, without a comment. */
export type PublishedKeys = ReadonlyMap<string, ReadonlySet<string>>;

/** A name as GitHub allows it; names differ not by the case of their letters. */
const NAME = /^[A-Za-z0-9](-?[A-Za-z0-9]){0,38}$/;
const KEY = /^(\S+)\s+([A-Za-z0-9+/]+={0,2})(\s|$)/;

/** Tells whether a text is a name of GitHub's. */
export function isGithubName(name: string): boolean {
  return NAME.test(name);
}

/** Returns the keys of a published file: one a line. Lines of another form are no keys. */
export function readPublishedKeys(text: string): ReadonlySet<string> {
  const keys = text.split(/\r?\n/).flatMap((line) => {
    const [, kind, key] = KEY.exec(line) ?? [];
    return kind === undefined || key === undefined ? [] : [`${kind} ${key}`];
  });
  return new Set(keys);
}

/** What is known of who a contributor is said to be. */
export type GithubFinding = "published" | "not_published" | "not_compared";

/** Compares the key of a statement with those that are published for the name. */
export function compareGithubKey(
  { github, public_key: publicKey }: { readonly github: string; readonly public_key: string },
  published: PublishedKeys,
): GithubFinding {
  const keys = published.get(github.toLowerCase());
  if (keys === undefined) return "not_compared";
  return keys.has(publicKey.trim().split(/\s+/).slice(0, 2).join(" ")) ? "published" : "not_published";
}

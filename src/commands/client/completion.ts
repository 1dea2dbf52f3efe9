/** Scripts that complete the commands in bash, zsh and fish, made from the table of commands. */
import { StartError } from "../../platform/start-error.js";
import { CLIENT_GROUPS } from "./client-groups.js";
import { COMMON_OPTIONS, wordsOf, type CommandSpec, type OptionSpec } from "./command-spec.js";

/** Shells that have a script. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** What may follow the words of a command. */
interface Place {
  /** Words so far, with a space between them; empty after `proofwright`. */
  readonly path: string;
  readonly next: readonly { readonly word: string; readonly summary: string }[];
  readonly options: readonly OptionSpec[];
}

/**
 * Checks the name of a shell.
 * @throws StartError for one that has no script here
 */
export function requireShell(name: string): Shell {
  const shell = SHELLS.find((known) => known === name);
  if (shell === undefined) throw new StartError(`"${name}" has no script; the shells are ${SHELLS.join(", ")}.`);
  return shell;
}

/** Returns the script of a shell. */
export function completionScript(shell: Shell, commands: readonly CommandSpec[]): string {
  const all = places(commands);
  if (shell === "fish") return fishScript(all);
  return shell === "zsh" ? zshScript(all) : bashScript(all);
}

/** Every place in a command line where words are known. */
function places(commands: readonly CommandSpec[]): readonly Place[] {
  const root = Object.entries(CLIENT_GROUPS).map(([word, summary]) => ({ word, summary }));
  const groups = Object.keys(CLIENT_GROUPS).flatMap((group): Place[] => {
    const members = commands.filter((spec) => wordsOf(spec)[0] === group && wordsOf(spec).length > 1);
    const next = members.map((spec) => ({ word: wordsOf(spec)[1] ?? "", summary: spec.summary }));
    return next.length === 0 ? [] : [{ path: group, next, options: [] }];
  });
  const own = commands.map((spec): Place => ({
    path: wordsOf(spec).join(" "),
    next: (spec.choices ?? []).map((word) => ({ word, summary: "" })),
    options: [...(spec.options ?? []), ...COMMON_OPTIONS],
  }));
  return [{ path: "", next: root, options: [] }, ...groups, ...own];
}

function wordsAt({ next, options }: Place): string {
  return [...next.map(({ word }) => word), ...options.map(nameOf), "--help"].join(" ");
}

/** The words before the cursor that are no options say where it is: two of them at most. */
function bashScript(all: readonly Place[]): string {
  const cases = all.map((place) => `    ${quoted(place.path)}) words=${quoted(wordsAt(place))} ;;`);
  return `# Completion of proofwright for bash. Put it into your ~/.bashrc: source <(proofwright completion bash)
_proofwright_words() {
  local words=
  case "$1" in
${cases.join("\n")}
  esac
  printf '%s' "$words"
}

_proofwright() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path= place= word words
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && continue
    place="$path\${path:+ }$word"
    [[ -n "$(_proofwright_words "$place")" ]] || break
    path=$place
  done
  case "$path $previous" in
${valueCases(all)
  .map(({ path, name, values }) => `    ${quoted(`${path} ${name}`)}) words=${quoted(values.join(" "))} ;;`)
  .join("\n")}
    *) words=$(_proofwright_words "$path") ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  # Options where one is begun; elsewhere the shell goes on with files when no word fits.
  [[ $current == -* ]] || COMPREPLY=($(printf '%s\\n' "\${COMPREPLY[@]}" | grep -v '^-'))
}
complete -o default -F _proofwright proofwright
`;
}

/** zsh has the summaries beside the words. */
function zshScript(all: readonly Place[]): string {
  const cases = all.map((place) => {
    const described = [
      ...place.next.map(({ word, summary }) => `${word}:${summary}`),
      ...place.options.map((option) => `${nameOf(option)}:${option.summary}`),
      "--help:say more",
    ];
    return `    ${quoted(place.path)}) offers=(${described.map(quoted).join(" ")}) ;;`;
  });
  return `#compdef proofwright
# Completion of proofwright for zsh. Put it into your ~/.zshrc, behind compinit: source <(proofwright completion zsh)
_proofwright_words() {
  offers=()
  case "$1" in
${cases.join("\n")}
  esac
}

_proofwright() {
  local place= known= word previous="\${words[CURRENT-1]}"
  local -a typed=("\${(@)words[2,CURRENT-1]}") offers
  for word in "\${typed[@]}"; do
    [[ $word == -* ]] && continue
    place="$known\${known:+ }$word"
    _proofwright_words "$place"
    (( \${#offers} )) || break
    known=$place
  done
  case "$known $previous" in
${valueCases(all)
  .map(({ path, name, values }) => `    ${quoted(`${path} ${name}`)}) offers=(${values.map(quoted).join(" ")}) ;;`)
  .join("\n")}
    *) _proofwright_words "$known" ;;
  esac
  [[ $PREFIX == -* ]] || offers=("\${(@)offers:#-*}")
  _describe 'proofwright' offers || _files
}
compdef _proofwright proofwright
`;
}

/** fish asks each line whether it holds for the words typed so far. */
function fishScript(all: readonly Place[]): string {
  const lines = all.flatMap(({ path, next, options }) => {
    const rule = `-n ${quoted(`__proofwright_at ${path}`.trimEnd())}`;
    return [
      ...next.map(({ word, summary }) => `complete -c proofwright -f ${rule} -a ${quoted(word)} -d ${quoted(summary)}`),
      ...options.map((option) => {
        const values = option.values === undefined ? "" : ` -x -a ${quoted(option.values.join(" "))}`;
        const takes = values === "" && option.flag.includes("<") ? " -r" : values;
        return `complete -c proofwright ${rule} -l ${nameOf(option).slice(2)}${takes} -d ${quoted(option.summary)}`;
      }),
    ];
  });
  const commands = all.filter(({ options }) => options.length > 0).map(({ path }) => quoted(path));
  return `# Completion of proofwright for fish: proofwright completion fish > ~/.config/fish/completions/proofwright.fish
function __proofwright_at
    set -l typed (string match -v -- '-*' (commandline -opc)[2..])
    set -l count (count $argv)
    if test $count -eq 0
        test (count $typed) -eq 0
        return
    end
    test (count $typed) -ge $count; or return 1
    test "$typed[1..$count]" = "$argv"; or return 1
    contains -- "$argv" ${commands.join(" ")}; and return 0
    test (count $typed) -eq $count
end
${lines.join("\n")}
`;
}

/** Options that take one of a few values, by the command that has them. */
function valueCases(all: readonly Place[]) {
  return all.flatMap(({ path, options }) =>
    options.flatMap((option) =>
      option.values === undefined ? [] : [{ path, name: nameOf(option), values: option.values }],
    ),
  );
}

function nameOf({ flag }: OptionSpec): string {
  return flag.split(" ")[0] ?? flag;
}

/** In single quotes a shell changes nothing; fish reads the same form. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

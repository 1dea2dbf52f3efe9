/** SETTINGS.md: the reference of all settings, generated from their table. */
import { SETTING_GROUPS, SETTINGS, type SettingName, type SettingSpec } from "./settings.js";

const HEADER = `# Settings

Generated from \`src/platform/settings.ts\` by \`npm run docs:settings\`; do not edit.

Each setting may be given as a flag (\`--port=9000\`), as an environment variable (\`PROOFWRIGHT_PORT=9000\`), or as a member of a JSON file
that \`--config=FILE\` or \`PROOFWRIGHT_CONFIG\` names (\`{"port": 9000}\`). A flag overrides the environment, and the environment overrides the
file.`;

/** Returns the text of SETTINGS.md: one table for each group of settings. */
export function settingsMarkdown(): string {
  const sections = SETTING_GROUPS.map(({ title, names }) =>
    [
      `## ${title}`,
      "",
      "| Environment | Flag | In the file | Default | Unit | Purpose |",
      "| --- | --- | --- | --- | --- | --- |",
      ...names.map(row),
    ].join("\n"),
  );
  return `${[HEADER, ...sections].join("\n\n")}\n`;
}

function row(name: SettingName): string {
  const { env, flag, unit = "", description }: SettingSpec = SETTINGS[name];
  const value = SETTINGS[name].default;
  const fallback = value === undefined || value === "" ? "" : code(String(value));
  return `| ${[code(env), code(`--${flag}`), code(name), fallback, unit, description].join(" | ")} |`;
}

function code(text: string): string {
  return `\`${text}\``;
}

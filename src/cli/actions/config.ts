import { join } from "node:path";
import { loadConfig } from "../../app/load-config.ts";
import { type ExplainedSetting, explainConfig } from "../../config/explain-config.ts";
import { jsonText } from "../../core/printable.ts";
import { formatTable } from "../terminal/format-table.ts";

export function showConfig(isJson: boolean): string {
  const loaded = loadConfig({ flags: {}, environment: process.env });
  const settings = explainConfig(loaded);
  const file = join(loaded.home, "config.json");
  if (isJson) return `${jsonText({ home: loaded.home, file, settings }, 2)}\n`;
  const rows = settings.map((setting) => [setting.key, shown(setting), setting.origin, setting.variable, setting.help]);
  const notes = [
    `Flags override the environment, and the environment overrides ${file}.`,
    ...loaded.warnings.map((warning) => (warning.endsWith("?") ? warning : `${warning}.`)),
  ];
  return `${formatTable(["SETTING", "VALUE", "FROM", "VARIABLE", "WHAT IT IS"], rows)}\n${notes.join("\n")}\n`;
}

function shown({ value }: ExplainedSetting): string {
  if (value === undefined) return "-";
  return typeof value === "string" ? value : JSON.stringify(value);
}

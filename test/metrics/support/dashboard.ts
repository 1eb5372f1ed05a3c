import { readFileSync } from "node:fs";

const read = (name: string): string =>
  readFileSync(new URL(`../../../deploy/grafana/${name}`, import.meta.url), "utf8");

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

/** Every query of the Grafana dashboard, with the title of its panel. */
export const dashboardQueries = (): readonly (readonly [title: string, expr: string])[] =>
  (JSON.parse(read("dashboard.json")) as { readonly panels: readonly Panel[] }).panels.flatMap(
    ({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const),
  );

export const alertRules = (): string => read("alerts.yml");

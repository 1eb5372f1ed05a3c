import type { ModelEntry } from "../../app/models/model-entry.ts";
import { jsonText } from "../../core/printable.ts";
import { type ClientFlags, withGateway } from "../gateway-client.ts";
import { formatTable } from "../terminal/format-table.ts";

export async function runModels({ json, ...flags }: ClientFlags & { readonly json: boolean }): Promise<void> {
  await withGateway(flags, async (gateway) => {
    const list = (await (await gateway.call("/v1/models")).json()) as { readonly data: readonly ModelEntry[] };
    process.stdout.write(json ? `${jsonText(list, 2)}\n` : formatModels(list.data));
  });
}

function formatModels(models: readonly ModelEntry[]): string {
  const rows = models.map((model) => [
    model.id,
    model.name ?? "",
    model.context_length === undefined ? "" : `${Math.round(model.context_length / 1000)}k`,
    abilitiesOf(model).join(", "),
    (model.reasoning_efforts ?? []).join(" "),
    (model.aliases ?? []).join(" "),
  ]);
  return formatTable(["MODEL", "NAME", "WINDOW", "CAN", "EFFORTS", "ALSO"], rows);
}

const abilitiesOf = ({ reasoning, architecture }: ModelEntry): readonly string[] => [
  ...(reasoning ? ["think"] : []),
  ...(architecture?.input_modalities?.includes("image") ? ["see"] : []),
];

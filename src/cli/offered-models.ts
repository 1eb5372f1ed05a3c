import type { ModelEntry } from "../app/models/model-entry.ts";
import type { OfferedModel } from "../client-config/client-recipe.ts";
import type { GatewayClient } from "./gateway-client.ts";

export async function offeredModels(gateway: GatewayClient): Promise<readonly OfferedModel[]> {
  const { data } = (await (await gateway.call("/v1/models")).json()) as { readonly data: readonly ModelEntry[] };
  return data.map(({ id, name, aliases, context_length, reasoning, architecture }) => ({
    id,
    name: name ?? id,
    aliases: aliases ?? [],
    window: context_length ?? 200_000,
    isThinking: reasoning ?? false,
    supportsImages: architecture?.input_modalities?.includes("image") ?? false,
  }));
}

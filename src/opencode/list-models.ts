/** A model as the gateway lists it. */
interface ListedModel {
  readonly id: string;
  readonly name?: string;
  readonly context_length?: number;
  readonly reasoning?: boolean;
  readonly architecture?: { readonly input_modalities?: readonly string[] };
}

const TIMEOUT_MS = 30_000;
const OUTPUT_TOKENS = 32_000;
const CONTEXT_TOKENS = 200_000;

/** The models of the account, as OpenCode's settings describe them. */
export async function listModels(ask: typeof fetch, baseUrl: string): Promise<Record<string, object>> {
  const response = await ask(`${baseUrl}/models`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) return {};
  const { data } = (await response.json()) as { readonly data: readonly ListedModel[] };
  return Object.fromEntries(data.map((model) => [model.id, describe(model)]));
}

function describe({ id, name, context_length, reasoning, architecture }: ListedModel): object {
  const seesImages = architecture?.input_modalities?.includes("image") ?? false;
  return {
    name: name ?? id,
    tool_call: true,
    reasoning: reasoning ?? false,
    attachment: seesImages,
    modalities: { input: seesImages ? ["text", "image"] : ["text"], output: ["text"] },
    limit: { context: context_length ?? CONTEXT_TOKENS, output: OUTPUT_TOKENS },
  };
}

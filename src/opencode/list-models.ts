interface ListedModel {
  readonly id: string;
  readonly name?: string;
  readonly aliases?: readonly string[];
  readonly context_length?: number;
  readonly reasoning?: boolean;
  readonly architecture?: { readonly input_modalities?: readonly string[] };
}

/** Longer than the gateway waits for the backend. */
const TIMEOUT_MS = 30_000;
const OUTPUT_TOKENS = 32_000;
const CONTEXT_TOKENS = 200_000;

/**
 * Returns the account's models under all their names, in the form of OpenCode's settings. Omits agents: they have tools
 * of their own, and OpenCode could become its own model. Rejects with the gateway's reason.
 */
export async function listModels(ask: typeof fetch, baseUrl: string): Promise<Record<string, object>> {
  const response = await ask(`${baseUrl}/models`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new Error(await reasonOf(response));
  const { data } = (await response.json()) as { readonly data: readonly ListedModel[] };
  const models = data.filter(({ id }) => !id.startsWith("acp:"));
  const aliases = models.flatMap((model) =>
    (model.aliases ?? []).map((alias) => [alias, describe(model, alias)] as const),
  );
  // A model's id takes precedence over another model's alias.
  return Object.fromEntries([...aliases, ...models.map((model) => [model.id, describe(model)] as const)]);
}

async function reasonOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined;
  return body?.error?.message ?? `The gateway answered with status ${response.status}.`;
}

function describe({ id, name = id, context_length, reasoning, architecture }: ListedModel, alias?: string): object {
  const seesImages = architecture?.input_modalities?.includes("image") ?? false;
  return {
    name: alias === undefined ? name : `${name} (${alias})`,
    tool_call: true,
    reasoning: reasoning ?? false,
    attachment: seesImages,
    modalities: { input: seesImages ? ["text", "image"] : ["text"], output: ["text"] },
    limit: { context: context_length ?? CONTEXT_TOKENS, output: OUTPUT_TOKENS },
  };
}

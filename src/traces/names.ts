/**
 * Sent as the version of the instrumentation scope, so that readers can tell which names they get. Raise it when a name
 * changes or is added.
 */
export const NAMES_VERSION = "2";

/**
 * Every name of OpenTelemetry's conventions that our spans use, in one place. Those for GenAI are in development, and have
 * been renamed before: these are from `open-telemetry/semantic-conventions-genai` of May 2026. Those for HTTP and errors
 * are stable since 1.23.
 */
export const NAMES = {
  serviceName: "service.name",

  errorType: "error.type",
  httpRoute: "http.route",
  httpStatus: "http.response.status_code",

  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  conversation: "gen_ai.conversation.id",
  /** In seconds. */
  firstChunk: "gen_ai.response.time_to_first_chunk",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cachedTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWrittenTokens: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  // Content, only if it was asked for. The values are JSON texts.
  instructions: "gen_ai.system_instructions",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolName: "gen_ai.tool.name",
  toolCallId: "gen_ai.tool.call.id",
  toolType: "gen_ai.tool.type",

  // Ours: there is no convention for these.
  contentIsCut: "excursor.content.is_cut",
  requestId: "excursor.request.id",
  client: "excursor.client",
  keyName: "excursor.key.name",
  face: "excursor.face",
  run: "excursor.run",
  replayReason: "excursor.replay.reason",
  costDollars: "excursor.cost.usd",
  costIsEstimate: "excursor.cost.is_estimate",
  usageOrigin: "excursor.usage.origin",
  /** Followed by the name of the phase; in milliseconds. */
  phasePrefix: "excursor.phase.",
  toolRanBy: "excursor.tool.ran_by",
  toolOutcome: "excursor.tool.outcome",
  toolServer: "excursor.tool.server",
  toolBytes: "excursor.tool.bytes",
} as const;

/** Values of `gen_ai.operation.name`. */
export const OPERATIONS = { chat: "chat", tool: "execute_tool" } as const;

import { z } from "zod";
import { ExcursorError } from "../../core/errors.ts";

const flag = z.boolean().catch(false);

/** The capabilities that we use. A malformed one counts as absent. */
const capabilitiesSchema = z.object({
  loadSession: flag,
  promptCapabilities: z.object({ image: flag, embeddedContext: flag }).catch({ image: false, embeddedContext: false }),
  sessionCapabilities: z.looseObject({}).catch({}),
});

export type Capabilities = z.output<typeof capabilitiesSchema>;

export const NO_CAPABILITIES: Capabilities = {
  loadSession: false,
  promptCapabilities: { image: false, embeddedContext: false },
  sessionCapabilities: {},
};

export const initializeResponse = z.object({
  protocolVersion: z.number(),
  agentCapabilities: capabilitiesSchema.catch(NO_CAPABILITIES),
});

const MAX_ID_CHARS = 4096;

const choice = z.object({ value: z.string() });
const choices = z
  .union([choice.transform(({ value }) => [value]), z.object({ options: z.array(choice.catch({ value: "" })) })])
  .transform((found) => (Array.isArray(found) ? found : found.options.map(({ value }) => value)))
  .catch([]);

/** A setting of a session, with its possible values. */
const configOption = z.object({
  id: z.string(),
  category: z.string().nullish().catch(undefined),
  options: z
    .array(choices)
    .transform((lists) => lists.flat().filter((value) => value !== ""))
    .catch([]),
});

const currentMode = z
  .object({ currentModeId: z.string() })
  .transform(({ currentModeId }) => currentModeId)
  .optional()
  .catch(undefined);

export const resumedResponse = z.object({ modes: currentMode }).catch({ modes: undefined });

export const newSessionResponse = z.object({
  sessionId: z.string().min(1).max(MAX_ID_CHARS),
  modes: currentMode,
  configOptions: z
    .array(configOption.nullable().catch(null))
    .transform((options) => options.filter((option) => option !== null))
    .catch([]),
});

export type NewSession = z.output<typeof newSessionResponse>;

/** The protocol has five reasons; newer agents may have others. */
export const promptResponse = z.object({ stopReason: z.string().min(1) });

/** Parses an agent's response. Throws if a required field is missing or invalid. */
export function readResponse<T>(schema: z.ZodType<T>, agent: string, method: string, response: unknown): T {
  const { data, error } = schema.safeParse(response);
  if (!error) return data;
  const field = error.issues[0]?.path.join(".") ?? "";
  const what = field === "" ? "without an object" : `without a valid \`${field}\``;
  throw new ExcursorError("agent_protocol", `The agent "${agent}" answered \`${method}\` ${what}.`);
}

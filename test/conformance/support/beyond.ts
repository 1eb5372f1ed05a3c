/** A member that is sent although the official type does not know it, or not with this value. */
interface Beyond {
  /** A path from the name of the type, with `*` for each item of an array. */
  readonly at: RegExp;
  /** As docs/conformance.md names it. */
  readonly member: string;
  /** Only with this value. Unset: with any. */
  readonly only?: unknown;
  /** Only in an object that has this member, too. */
  readonly beside?: string;
}

const RESPONSE = "Responses(Answer|(Event|Message)\\.response)";

/** The reviewed list: docs/conformance.md has the reason of each. */
export const BEYOND: readonly Beyond[] = [
  { at: /^Chat(Answer|Chunk)\.choices\.\*\.(message|delta)\.reasoning(_content)?$/, member: "reasoning_content" },
  { at: /^ChatChunk\.choices\.\*\.delta\.tool_calls\.\*\.custom$/, member: "custom" },
  { at: /^ChatChunk\.choices\.\*\.delta\.tool_calls\.\*\.type$/, member: "custom", only: "custom" },
  {
    at: /^OpenAiModel(List\.data\.\*)?\.(name|aliases|context_length|context_window|max_model_len|architecture|reasoning(_efforts)?)$/,
    member: "context_length",
  },
  { at: /^OpenAiModel(List\.data\.\*)?\.(api_types|capabilities)$/, member: "api_types" },
  { at: /\.usage\.is_estimate$/, member: "is_estimate" },
  { at: new RegExp(`^${RESPONSE}\\.(frequency|presence)_penalty$`), member: "frequency_penalty" },
  { at: new RegExp(`^${RESPONSE}\\.store$`), member: "store" },
  { at: new RegExp(`^${RESPONSE}\\.(usage|user)$`), member: "user", only: null },
  { at: new RegExp(`^${RESPONSE}\\.(text\\.format|tools\\.\\*)\\.description$`), member: "description", only: null },
  { at: /^Responses(Event|Message)\.error$/, member: "error", beside: "code" },
  { at: /^ResponsesMessage\.(headers|request_id)$/, member: "headers" },
  { at: /^Messages(Error|Event)\.error\.details$/, member: "details" },
  { at: /^OllamaChatLine\.message\.tool_calls\.\*\.(id|function\.index)$/, member: "id" },
];

/** Returns a value without what is on the list, and notes each member of the list that it meets. */
export function withoutBeyond(value: unknown, path: string, met: (entry: Beyond) => void): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutBeyond(item, `${path}.*`, met));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const at = `${path}.${name}`;
      const entry = BEYOND.find(
        (one) =>
          one.at.test(at) &&
          (!("only" in one) || one.only === inner) &&
          (one.beside === undefined || one.beside in value),
      );
      if (!entry) return [[name, withoutBeyond(inner, at, met)]];
      met(entry);
      return [];
    }),
  );
}

import { ExcursorError } from "../../../core/errors.ts";
import { nestsDeeper } from "../../../core/json/nests-deeper.ts";
import type { ToolDefinition } from "../../../core/turn.ts";
import { MAX_VALUE_LEVELS } from "../../../wire/agent/encode-value.ts";
import { flattenSchema } from "./flatten-schema.ts";

export interface FittingTools {
  readonly tools: readonly ToolDefinition[];
  /** Tools that the backend could not decode and that are not the client's. */
  readonly leftOut: readonly ToolDefinition[];
  /** The error about the first such tool of the client. */
  readonly fault: ExcursorError | undefined;
}

/** Removes tools whose schema is nested too deeply: the backend would refuse the whole request. */
export function fitTools(tools: readonly ToolDefinition[]): FittingTools {
  if (!tools.some(isTooDeep)) return { tools, leftOut: [], fault: undefined };
  const tooDeep = tools.filter(isTooDeep);
  const clients = tooDeep.find(({ field }) => field !== undefined);
  return {
    tools: tools.filter((tool) => !tooDeep.includes(tool)),
    leftOut: tooDeep.filter(({ field }) => field === undefined),
    fault: clients && tooDeepError(clients),
  };
}

// Most schemas are shallow and need no flattening, which can remove levels.
const isTooDeep = ({ schema }: ToolDefinition): boolean =>
  nestsDeeper(schema, MAX_VALUE_LEVELS) && nestsDeeper(flattenSchema(schema), MAX_VALUE_LEVELS);

const tooDeepError = ({ name, field = "tools" }: ToolDefinition): ExcursorError =>
  new ExcursorError("schema_too_deep", [field, JSON.stringify(name), MAX_VALUE_LEVELS], { field });

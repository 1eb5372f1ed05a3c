import { type as osType, release } from "node:os";
import { create, toBinary } from "@bufbuild/protobuf";
import { spellToolName } from "../../../core/spell-tool-name.ts";
import type { ToolDefinition } from "../../../core/turn.ts";
import type { McpArgs } from "../../../gen/agent/v1/exec_mcp_pb.ts";
import { McpToolDefinitionSchema, McpToolsSchema } from "../../../gen/agent/v1/mcp_pb.ts";
import { RequestContextSchema } from "../../../gen/agent/v1/request_context_pb.ts";
import { bytesField, encodeFields, serialized, textField } from "../../../wire/agent/encode-fields.ts";
import { encodeValue } from "../../../wire/agent/encode-value.ts";
import { PROVIDER, qualifiedToolName } from "../../../wire/agent/exec/tool-names.ts";
import { TIME_ZONE } from "../../shared/time-zone.ts";
import { flattenSchema } from "./flatten-schema.ts";

/** The environment that every run reports: only what a model needs to know of this machine. */
const SURROUNDINGS = toBinary(
  RequestContextSchema,
  create(RequestContextSchema, {
    env: { osVersion: `${osType().toLowerCase()} ${release()}`, shell: "bash", timeZone: TIME_ZONE },
    rulesInfoComplete: true,
    envInfoComplete: true,
    mcpInfoComplete: true,
  }),
);

/**
 * The instructions and tools of a run, as `RequestContext` and `McpTools`. The backend reads tools in three places;
 * each is encoded once.
 */
export class Offer {
  readonly tools: readonly ToolDefinition[];
  /** A serialized `RequestContext`. */
  readonly context: Uint8Array;
  /** A serialized `McpTools`. */
  readonly mcpTools: Uint8Array;
  /** The client's tool names by the wire's: the bare one and the qualified one. */
  readonly #names: ReadonlyMap<string, string>;

  constructor(system: string, tools: readonly ToolDefinition[]) {
    this.tools = tools;
    this.#names = tools.length === 0 ? NO_NAMES : namesOf(tools);
    const { cloudRule, tools: contextTools } = RequestContextSchema.field;
    const encoded = tools.map(encodeTool);
    const rule = system === "" ? [] : [textField(cloudRule, system)];
    // Requests without instructions and tools share the common part.
    this.context =
      rule.length + encoded.length === 0
        ? SURROUNDINGS
        : encodeFields(serialized(SURROUNDINGS), ...rule, ...encoded.map((tool) => bytesField(contextTools, tool)));
    this.mcpTools = encodeFields(...encoded.map((tool) => bytesField(McpToolsSchema.field.mcpTools, tool)));
  }

  /** Returns the client's tool that a call means, or undefined if it was not offered. */
  nameOf({ toolName, name }: McpArgs): string | undefined {
    return this.#names.get(toolName === "" ? name : toolName);
  }

  /** The names that the model sees. */
  get names(): readonly string[] {
    return this.tools.map(({ name }) => spellToolName(name));
  }
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

const namesOf = (tools: readonly ToolDefinition[]): ReadonlyMap<string, string> =>
  new Map(tools.flatMap(({ name }) => [spellToolName(name), qualifiedToolName(name)].map((wire) => [wire, name])));

function encodeTool({ name, description, schema }: ToolDefinition): Uint8Array {
  const { field } = McpToolDefinitionSchema;
  return encodeFields(
    textField(field.name, qualifiedToolName(name)),
    textField(field.description, description),
    bytesField(field.inputSchema, encodeValue(flattenSchema(schema))),
    textField(field.providerIdentifier, PROVIDER),
    textField(field.toolName, spellToolName(name)),
  );
}

import { type as osType, release } from "node:os";
import { create, toBinary } from "@bufbuild/protobuf";
import type { ToolDefinition } from "../../core/turn.ts";
import type { McpArgs } from "../../gen/agent/v1/exec_mcp_pb.ts";
import { McpToolDefinitionSchema, McpToolsSchema } from "../../gen/agent/v1/mcp_pb.ts";
import { RequestContextSchema } from "../../gen/agent/v1/request_context_pb.ts";
import { bytesField, joinFields, textField } from "./encode-fields.ts";
import { encodeValue } from "./encode-value.ts";
import { flattenSchema } from "./flatten-schema.ts";
import { TIME_ZONE } from "./time-zone.ts";
import { PROVIDER, qualifiedToolName, wireToolName } from "./tool-names.ts";

/** What every run says of its surroundings. Of this machine it is no more than a model needs. */
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
 * What a run brings besides the conversation: the client's instructions and tools, as `RequestContext` and `McpTools`.
 * The backend looks for tools in three places; each is encoded once.
 */
export class Offer {
  readonly tools: readonly ToolDefinition[];
  /** A serialized `RequestContext`. */
  readonly context: Uint8Array;
  /** A serialized `McpTools`. */
  readonly mcpTools: Uint8Array;
  /** The client's names, by those on the wire: the bare one, and the one with the provider before it. */
  readonly #names = new Map<string, string>();

  constructor(system: string, tools: readonly ToolDefinition[]) {
    this.tools = tools;
    for (const { name } of tools) {
      this.#names.set(wireToolName(name), name);
      this.#names.set(qualifiedToolName(name), name);
    }
    const encoded = tools.map(encodeTool);
    const { cloudRule, tools: contextTools } = RequestContextSchema.field;
    this.context = joinFields(
      SURROUNDINGS,
      ...(system === "" ? [] : [textField(cloudRule, system)]),
      ...encoded.map((tool) => bytesField(contextTools, tool)),
    );
    this.mcpTools = joinFields(...encoded.map((tool) => bytesField(McpToolsSchema.field.mcpTools, tool)));
  }

  /** The client's tool that a call means; undefined if it offered none such. */
  nameOf({ toolName, name }: McpArgs): string | undefined {
    return this.#names.get(toolName === "" ? name : toolName);
  }

  /** As the model knows them. */
  get names(): readonly string[] {
    return this.tools.map(({ name }) => wireToolName(name));
  }
}

function encodeTool({ name, description, schema }: ToolDefinition): Uint8Array {
  const { field } = McpToolDefinitionSchema;
  return joinFields(
    textField(field.name, qualifiedToolName(name)),
    textField(field.description, description),
    bytesField(field.inputSchema, encodeValue(flattenSchema(schema))),
    textField(field.providerIdentifier, PROVIDER),
    textField(field.toolName, wireToolName(name)),
  );
}

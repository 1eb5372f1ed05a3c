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
  readonly #names: ReadonlyMap<string, string>;

  constructor(system: string, tools: readonly ToolDefinition[]) {
    this.tools = tools;
    this.#names = tools.length === 0 ? NO_NAMES : namesOf(tools);
    const { cloudRule, tools: contextTools } = RequestContextSchema.field;
    const encoded = tools.map(encodeTool);
    const rule = system === "" ? [] : [textField(cloudRule, system)];
    // Most requests of people bring neither, and then share what all have.
    this.context =
      rule.length + encoded.length === 0
        ? SURROUNDINGS
        : encodeFields(serialized(SURROUNDINGS), ...rule, ...encoded.map((tool) => bytesField(contextTools, tool)));
    this.mcpTools = encodeFields(...encoded.map((tool) => bytesField(McpToolsSchema.field.mcpTools, tool)));
  }

  /** The client's tool that a call means; undefined if it offered none such. */
  nameOf({ toolName, name }: McpArgs): string | undefined {
    return this.#names.get(toolName === "" ? name : toolName);
  }

  /** As the model knows them. */
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

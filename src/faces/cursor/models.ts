import { create, type DescMessage, type MessageInitShape, toBinary, toJson } from "@bufbuild/protobuf";
import { findNodeAtLocation, parseTree } from "jsonc-parser";
import type { ModelInfo } from "../../core/driver.ts";
import {
  GetDefaultModelForCliResponseSchema,
  GetUsableModelsResponseSchema,
  type ModelDetailsSchema,
} from "../../gen/agent/v1/model_pb.ts";
import { AgentService } from "../../gen/agent/v1/service_pb.ts";
import { AiService } from "../../gen/aiserver/v1/ai_pb.ts";
import { AvailableModelsResponseSchema } from "../../gen/aiserver/v1/models_pb.ts";
import { mediaType } from "../../wire/http/http-errors.ts";
import type { ServerExchange } from "../../wire/http/server-exchange.ts";
import { OWN_PREFIX } from "./find-model.ts";

/** One way in which clients ask for models: what our models are in its answer. */
export interface ModelList {
  /** Adds our models to the backend's answer, which stays as it is byte for byte. */
  add(answer: Buffer, models: readonly ModelInfo[], isJson: boolean): Uint8Array;
  /** Answers with our models alone. */
  alone(models: readonly ModelInfo[], isJson: boolean): Uint8Array;
}

/** True if the answer is to be JSON. */
export const wantsJson = (exchange: ServerExchange): boolean =>
  exchange.method === "GET" || mediaType(exchange.header("content-type")) === "application/json";

/** True if gRPC or gRPC-Web has put frames around the messages of a call, so that its answer cannot be changed here. */
export const isFramed = (exchange: ServerExchange): boolean =>
  mediaType(exchange.header("content-type")).startsWith("application/grpc");

function pathOf({ parent, name }: { readonly parent: { readonly typeName: string }; readonly name: string }): string {
  return `POST /${parent.typeName}/${name}`;
}

/** An answer with lists of models. One that names a single model is left to the backend. */
function listOf<D extends DescMessage>(
  schema: D,
  message: (models: readonly ModelInfo[]) => MessageInitShape<D>,
): ModelList {
  return {
    add(answer, models, isJson) {
      const added = message(models);
      if (models.length === 0 || !Object.values(added).every(Array.isArray)) return answer;
      const ours = create(schema, added);
      // Serialized messages that are joined are one message with the lists of both.
      if (!isJson) return Buffer.concat([answer, toBinary(schema, ours)]);
      return spliced(answer, toJson(schema, ours) as Readonly<Record<string, readonly unknown[]>>);
    },
    alone(models, isJson) {
      const ours = create(schema, message(models));
      return isJson ? Buffer.from(JSON.stringify(toJson(schema, ours))) : toBinary(schema, ours);
    },
  };
}

/** Adds elements to the lists of a JSON object, and leaves all other text as it is. */
function spliced(body: Buffer, lists: Readonly<Record<string, readonly unknown[]>>): Buffer {
  let text = body.length === 0 ? "{}" : body.toString("utf8");
  for (const [name, elements] of Object.entries(lists)) {
    const root = parseTree(text);
    if (root?.type !== "object" || elements.length === 0) continue;
    const added = elements.map((element) => JSON.stringify(element)).join(",");
    const list = findNodeAtLocation(root, [name]);
    if (list?.type === "array") {
      const end = list.offset + list.length - 1;
      text = `${text.slice(0, end)}${list.children?.length ? "," : ""}${added}${text.slice(end)}`;
    } else if (!list) {
      const end = root.offset + root.length - 1;
      text = `${text.slice(0, end)}${root.children?.length ? "," : ""}${JSON.stringify(name)}:[${added}]${text.slice(end)}`;
    }
  }
  return Buffer.from(text);
}

function restAlone(models: readonly ModelInfo[]): Buffer {
  return Buffer.from(JSON.stringify({ items: models.map(listItem) }));
}

const EFFORT = "effort";

/** The name in lists that only show names, where the account may have a model that is called the same. */
const shownName = ({ id, displayName }: ModelInfo): string =>
  displayName.toLowerCase() === id.toLowerCase() ? displayName : `${displayName} (${id})`;

function listItem(model: ModelInfo) {
  const { id, efforts } = model;
  const displayName = shownName(model);
  const parameter = { id: EFFORT, displayName: "Effort", values: efforts.map((value) => ({ value })) };
  const variants = efforts.map((value) => ({
    params: [{ id: EFFORT, value }],
    displayName: `${displayName} ${value}`,
    isDefault: false,
  }));
  return {
    id: OWN_PREFIX + id,
    displayName,
    description: "Answered by Excursor, not by your Cursor account.",
    ...(efforts.length > 0 && { parameters: [parameter], variants }),
  };
}

const usableModels = (models: readonly ModelInfo[]) => ({ models: models.map(modelDetails) });

const defaultModel = ([first]: readonly ModelInfo[]) => (first ? { model: modelDetails(first) } : {});

const modelDetails = (model: ModelInfo): MessageInitShape<typeof ModelDetailsSchema> => ({
  modelId: OWN_PREFIX + model.id,
  displayModelId: OWN_PREFIX + model.id,
  displayName: shownName(model),
  displayNameShort: shownName(model),
  ...(model.isThinking && { thinkingDetails: {} }),
});

const availableModels = (models: readonly ModelInfo[]): MessageInitShape<typeof AvailableModelsResponseSchema> => ({
  modelNames: models.map(({ id }) => OWN_PREFIX + id),
  models: models.map((model) => {
    const name = OWN_PREFIX + model.id;
    const shown = shownName(model);
    return {
      name,
      defaultOn: true,
      supportsImages: model.supportsImages,
      supportsMaxMode: false,
      supportsNonMaxMode: true,
      contextTokenLimit: model.contextTokens,
      clientDisplayName: shown,
      serverModelName: name,
      variants: model.efforts.map((value) => ({
        parameters: [{ id: EFFORT, value }],
        displayName: `${shown} ${value}`,
        displayNameOutsidePicker: `${shown} ${value}`,
        variantStringRepresentation: `${name}[${EFFORT}=${value}]`,
      })),
    };
  }),
});

/** The lists of models by `METHOD /path`. */
export const MODEL_LISTS: ReadonlyMap<string, ModelList> = new Map([
  ["GET /v1/models", { add: (answer, models) => spliced(answer, { items: models.map(listItem) }), alone: restAlone }],
  ...[AgentService, AiService].flatMap((service): [string, ModelList][] => [
    [pathOf(service.method.getUsableModels), listOf(GetUsableModelsResponseSchema, usableModels)],
    [pathOf(service.method.getDefaultModelForCli), listOf(GetDefaultModelForCliResponseSchema, defaultModel)],
  ]),
  [pathOf(AiService.method.availableModels), listOf(AvailableModelsResponseSchema, availableModels)],
] satisfies [string, ModelList][]);

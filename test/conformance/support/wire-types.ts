import type * as Anthropic from "@anthropic-ai/sdk/resources/messages";
import type { ModelInfo } from "@anthropic-ai/sdk/resources/models";
import type { ErrorResponse } from "@anthropic-ai/sdk/resources/shared";
import type * as Google from "@google/genai";
import type * as Ollama from "ollama";
import type { ChatCompletion, ChatCompletionChunk } from "openai/resources/chat/completions";
import type { Model } from "openai/resources/models";
import type { ResponseItemList } from "openai/resources/responses/input-items";
import type { InputTokenCountResponse } from "openai/resources/responses/input-tokens";
import type { Response, ResponseStreamEvent, ResponsesServerEvent } from "openai/resources/responses/responses";
import type { ErrorObject } from "openai/resources/shared";

// The official types by the names of what is sent. `schemas.ts` makes a JSON Schema of each; no member that they do not know may pass.

export type ChatAnswer = ChatCompletion;
export type ChatChunk = ChatCompletionChunk;
export type OpenAiModel = Model;
export type OpenAiModelList = {
  object: "list";
  data: Model[];
  first_id?: string;
  last_id?: string;
  has_more?: boolean;
};
/** Every error body has the id of its request, which Anthropic's type has and the others do not mind. */
export type OpenAiError = { error: ErrorObject; request_id?: string };

/** What OpenAI's client adds to an answer is not sent. */
export type ResponsesAnswer = Omit<Response, "output_text">;
type OnWire<Event> = Event extends { response: Response }
  ? Omit<Event, "response"> & { response: ResponsesAnswer }
  : Event;
export type ResponsesEvent = OnWire<ResponseStreamEvent>;
export type ResponsesMessage = OnWire<ResponsesServerEvent>;
export type ResponsesInputItems = ResponseItemList;
export type ResponsesTokens = InputTokenCountResponse;
export type ResponsesDeleted = { id: string; object: "response"; deleted: true };

export type MessagesAnswer = Anthropic.Message;
export type MessagesEvent = Anthropic.RawMessageStreamEvent | { type: "ping" } | MessagesError;
export type MessagesTokens = Anthropic.MessageTokensCount;
/** The documented type of 413, which the client's types leave out (docs.anthropic.com/en/api/errors). */
type TooLarge = { type: "request_too_large"; message: string };
export type MessagesError = Omit<ErrorResponse, "error"> & { error: ErrorResponse["error"] | TooLarge };
export type AnthropicModel = ModelInfo;
export type AnthropicModelList = {
  data: ModelInfo[];
  has_more: boolean;
  first_id: string | null;
  last_id: string | null;
};

type GoogleAnswer = Google.GenerateContentResponse;
/** Google's client adds getters and the response of HTTP. */
type GeminiSent =
  | "candidates"
  | "modelVersion"
  | "responseId"
  | "usageMetadata"
  | "promptFeedback"
  | "createTime"
  | "modelStatus";
export type GeminiAnswer = Pick<GoogleAnswer, GeminiSent>;
export type GeminiTokens = Pick<Google.CountTokensResponse, "totalTokens" | "cachedContentTokenCount">;
export type GeminiModel = Omit<Google.Model, "supportedActions"> & GeminiModelOnWire;
export type GeminiModelList = { models: GeminiModel[]; nextPageToken?: string };
/** The client renames or drops these, which `Model` of the REST API has (ai.google.dev/api/models). */
interface GeminiModelOnWire {
  baseModelId: string;
  supportedGenerationMethods: string[];
}
/** google.rpc.Status as JSON; the client passes on its words alone. */
export type GeminiError = {
  error: { code: number; message: string; status: string; details: { "@type": string; [more: string]: unknown }[] };
  request_id?: string;
};

/** The types are of what the client returns: dates on the wire are text, and only the last line has the figures. */
type Head = "model" | "created_at" | "done";
export type OllamaChatLine = { model: string; created_at: string; done: boolean } & Pick<
  Ollama.ChatResponse,
  "message"
> &
  Partial<Omit<Ollama.ChatResponse, Head | "message">>;
export type OllamaTextLine = { model: string; created_at: string; done: boolean } & Pick<
  Ollama.GenerateResponse,
  "response"
> &
  Partial<Omit<Ollama.GenerateResponse, Head | "response">>;
export type OllamaModelList = {
  models: (Omit<Ollama.ModelResponse, "modified_at" | "expires_at" | "size_vram"> & { modified_at: string })[];
};
/** `license` and others are left out if they are empty. */
export type OllamaModel = Pick<
  Ollama.ShowResponse,
  "details" | "template" | "modelfile" | "parameters" | "capabilities"
> & {
  license?: string;
  system?: string;
  modified_at: string;
  model_info: Record<string, string | number>;
};
export type OllamaVersion = Ollama.VersionResponse;
export type OllamaError = { error: string; request_id?: string };

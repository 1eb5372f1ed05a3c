import type { AssistantPart, ImagePart, JsonObject, Message, TextPart, UserPart } from "../../../core/turn.ts";
import { invalid } from "../../shared/errors/invalid.ts";
import type { ImageLoader, ParseContext } from "../../shared/face.ts";
import { readFile } from "../../shared/file-part.ts";
import { loadImage } from "../../shared/load-image.ts";
import { separateTexts } from "../../shared/separate-texts.ts";
import type { CallMemory, GivenMessage } from "../../shared/tools/call-memory.ts";
import type { Content, Part } from "../schema.ts";
import { unwrapSignature } from "../signature.ts";

export interface Conversation {
  readonly messages: readonly Message[];
  readonly conversation: string;
}

/** Returns the conversation, with the ids that we gave its calls. */
export async function readContents(
  contents: readonly Content[],
  { principal, images }: ParseContext,
  memory: CallMemory,
): Promise<Conversation> {
  const given = await Promise.all(joinAnswers(contents).map((content) => readContent(content, images)));
  return memory.restore(principal.id, given.flat());
}

/** Throws if the conversation ends with an answer. */
export function checkAsked(contents: readonly Content[]): void {
  if (contents.at(-1)?.role !== "model") return;
  throw invalid(`contents[${contents.length - 1}].role`, 'the conversation must end with "user"');
}

export function countImages(contents: readonly Content[]): number {
  const parts = contents.flatMap(({ parts: given }) =>
    (given ?? []).flatMap((part): Part[] => [part, ...(part.functionResponse?.parts ?? [])]),
  );
  return parts.filter(({ inlineData, fileData }) => isImage(inlineData?.mimeType) || isImage(fileData?.mimeType))
    .length;
}

const isImage = (mimeType: string | null | undefined): boolean => /^image\//i.test(mimeType ?? "");

interface PlacedContent {
  readonly isAnswer: boolean;
  readonly parts: readonly { readonly part: Part; readonly field: string }[];
}

/** Joins the adjacent contents of an answer: Google's chat keeps every chunk of a stream as a content of its own. */
function joinAnswers(contents: readonly Content[]): readonly PlacedContent[] {
  const joined: PlacedContent[] = [];
  contents.forEach(({ role, parts: given }, index) => {
    const isAnswer = role === "model";
    const parts = (given ?? []).map((part, at) => ({ part, field: `contents[${index}].parts[${at}]` }));
    const last = joined.at(-1);
    if (isAnswer && last?.isAnswer) joined[joined.length - 1] = { isAnswer, parts: [...last.parts, ...parts] };
    else joined.push({ isAnswer, parts });
  });
  return joined;
}

/** Splits a content of the user into its results and the rest. Results come first. */
async function readContent({ isAnswer, parts }: PlacedContent, images: ImageLoader): Promise<readonly GivenMessage[]> {
  if (isAnswer) return [{ role: "assistant", content: readAnswer(parts.map(({ part }) => part)) }];
  const results = await Promise.all(
    parts.flatMap(({ part: { functionResponse }, field }) =>
      functionResponse ? [readResult(functionResponse, `${field}.functionResponse`, images)] : [],
    ),
  );
  const loaded = await Promise.all(parts.map(({ part, field }) => loadPart(part, field, images)));
  const shown = separateTexts(loaded.filter((part) => part !== undefined));
  return shown.length > 0 || results.length === 0 ? [...results, { role: "user", content: shown }] : results;
}

/** Returns undefined for an empty text, and for what is not shown to the model. */
async function loadPart(
  { text, inlineData, fileData }: Part,
  field: string,
  images: ImageLoader,
): Promise<UserPart | undefined> {
  if (inlineData) {
    const { mimeType, data } = inlineData;
    const url = `data:${mimeType};base64,${data}`;
    const place = `${field}.inlineData.data`;
    return isImage(mimeType) ? loadImage(url, place, images) : readFile("file", url, place);
  }
  if (fileData) {
    const place = `${field}.fileData.fileUri`;
    if (!isImage(fileData.mimeType)) throw invalid(place, "not supported: the gateway stores and fetches no files");
    return loadImage(fileData.fileUri, place, images);
  }
  return textPart(text);
}

function readAnswer(parts: readonly Part[]): readonly AssistantPart[] {
  const read: AssistantPart[] = [];
  /** Thinking comes in pieces; the last one has the signature. */
  let thinking: string | undefined;
  const endThinking = (signature?: string) => {
    if (thinking || signature !== undefined) read.push({ type: "thinking", text: thinking ?? "", signature });
    thinking = undefined;
  };
  for (const { text, thought, thoughtSignature, functionCall } of parts) {
    if (thought) {
      thinking = (thinking ?? "") + (text ?? "");
      if (thoughtSignature) endThinking(unwrapSignature(thoughtSignature));
      continue;
    }
    endThinking();
    const said = textPart(text);
    if (said) read.push(said);
    if (functionCall) {
      const { id, name, args } = functionCall;
      read.push({ type: "tool-call", id: id ?? "", name, args: args ?? {} });
    }
  }
  endThinking();
  return read;
}

type FunctionResponse = NonNullable<Part["functionResponse"]>;

async function readResult(given: FunctionResponse, field: string, images: ImageLoader): Promise<GivenMessage> {
  const { id, name, response, parts } = given;
  const { text, isError } = readResponse(response ?? {}, name);
  const loaded = await Promise.all(
    (parts ?? []).map(({ inlineData }, index) => loadPart({ inlineData }, `${field}.parts[${index}]`, images)),
  );
  const shown: (TextPart | ImagePart)[] = [textPart(text), ...loaded.map(asResultPart)].filter(
    (part) => part !== undefined,
  );
  const place = id ? `${field}.id` : `${field}.name`;
  return { role: "tool", callId: id || undefined, name, field: place, content: shown, isError };
}

/** A result can hold only text and images. */
const asResultPart = (part: UserPart | undefined): TextPart | ImagePart | undefined =>
  part?.type === "file" ? { type: "text", text: part.text } : part;

/** Google's SDKs and others put the result of a tool into a field of this object; a failure is in `error`. */
function readResponse(response: JsonObject, tool: string): { readonly text: string; readonly isError: boolean } {
  const { name, ...fields } = response;
  const [[field, value] = ["", ""], ...others] = Object.entries(name === tool ? fields : response);
  const isAlone = others.length === 0 && ["output", "result", "content", "error"].includes(field);
  const whole = isAlone ? value : response;
  return { text: typeof whole === "string" ? whole : JSON.stringify(whole), isError: isAlone && field === "error" };
}

const textPart = (text: string | null | undefined): TextPart | undefined => (text ? { type: "text", text } : undefined);

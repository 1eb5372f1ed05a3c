import { randomUUID } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { type FilePart, textOf, type UserMessage } from "../../../core/turn.ts";
import { AgentMode } from "../../../gen/agent/v1/agent_mode_pb.ts";
import {
  SelectedContextSchema,
  type SelectedDocument,
  type SelectedImage,
  type SelectedVideo,
} from "../../../gen/agent/v1/selected_context_pb.ts";
import { UserMessageSchema, type UserMessage as WireUserMessage } from "../../../gen/agent/v1/user_message_pb.ts";
import { bytesField, type Field, numberField, textField } from "../encode-fields.ts";
import { type AddBlob, type BlobSource, needBlob } from "./blobs.ts";
import { imageTypeOf } from "./media-type.ts";
import { unwrapUserQuery } from "./root-messages.ts";

const { field } = UserMessageSchema;
const MODE = numberField(field.mode, AgentMode.AGENT);

/** Encodes a user message as the fields of a `UserMessage`: text, images inline, files as selected context. */
export function userMessageFields({ content }: UserMessage): readonly Field[] {
  const text = textField(field.text, textOf(content));
  const id = textField(field.messageId, randomUUID());
  return content.every(({ type }) => type === "text")
    ? [text, id, MODE]
    : [text, id, MODE, bytesField(field.selectedContext, encodeContext(content))];
}

function encodeContext(content: UserMessage["content"]): Uint8Array {
  const context = create(SelectedContextSchema, {
    selectedImages: content
      .filter((part) => part.type === "image")
      .map(({ mediaType, data }) => ({
        uuid: randomUUID(),
        mimeType: mediaType,
        dataOrBlobId: { case: "data" as const, value: data },
      })),
    files: content
      .filter((part) => part.type === "file")
      .map(({ name, text }) => ({ content: text, path: name, relativePath: name })),
  });
  return toBinary(SelectedContextSchema, context);
}

/** Reads a `UserMessage`. Its text and images may be in blobs of their own. */
export async function readUserMessage(message: WireUserMessage, blobs: BlobSource): Promise<UserMessage> {
  const { textBlobId, selectedContext } = message;
  const moved = textBlobId?.length ? await needBlob(textBlobId, "user_message.text_blob_id", blobs) : undefined;
  const text = moved ? Buffer.from(moved).toString("utf8") : message.text;
  const images = (selectedContext?.selectedImages ?? []).map((image, index) =>
    readImage(image, `user_message.selected_context.selected_images[${index}].blob_id`, blobs),
  );
  const files = (selectedContext?.files ?? []).map(
    ({ relativePath, path, content }): FilePart => ({ type: "file", name: relativePath || path, text: content }),
  );
  return {
    role: "user",
    content: [{ type: "text", text: unwrapUserQuery(text) }, ...files, ...(await Promise.all(images))],
  };
}

async function readImage({ dataOrBlobId, mimeType }: SelectedImage, field: string, blobs: BlobSource) {
  const data = await attachedBytes(dataOrBlobId, field, blobs);
  return { type: "image" as const, data, mediaType: imageTypeOf(data, mimeType) };
}

/** Returns the content of what is attached. `field` names its blob id. */
export function attachedBytes(
  source: SelectedImage["dataOrBlobId"] | SelectedDocument["dataOrBlobId"],
  field: string,
  blobs: BlobSource,
): Uint8Array | Promise<Uint8Array> {
  switch (source.case) {
    case "data":
      return source.value;
    case "blobIdWithData":
      return source.value.data;
    case "blobId":
      return needBlob(source.value, field, blobs);
    default:
      return new Uint8Array();
  }
}

/** Serializes a `UserMessage` with its attachments as separate blobs, so that frames stay small. */
export function encodeUserMessage(message: WireUserMessage, add: AddBlob): Uint8Array {
  const { selectedContext } = message;
  if (!selectedContext) return toBinary(UserMessageSchema, message);
  const stored = <A extends Attachment>(attachment: A): A => {
    const { dataOrBlobId: source } = attachment;
    return source.case === "data"
      ? { ...attachment, dataOrBlobId: { case: "blobId", value: add(source.value) } }
      : attachment;
  };
  const context = {
    ...selectedContext,
    selectedImages: selectedContext.selectedImages.map(stored),
    selectedDocuments: selectedContext.selectedDocuments.map(stored),
    selectedVideos: selectedContext.selectedVideos.map(stored),
  };
  return toBinary(UserMessageSchema, { ...message, selectedContext: context });
}

type Attachment = SelectedImage | SelectedDocument | SelectedVideo;

import { randomUUID } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { textOf, type UserMessage } from "../../../core/turn.ts";
import { AgentMode } from "../../../gen/agent/v1/agent_mode_pb.ts";
import { SelectedContextSchema } from "../../../gen/agent/v1/selected_context_pb.ts";
import { UserMessageSchema } from "../../../gen/agent/v1/user_message_pb.ts";
import { bytesField, type Field, numberField, textField } from "../encode-fields.ts";

const { field } = UserMessageSchema;
const MODE = numberField(field.mode, AgentMode.AGENT);

/** A user's message as the fields of a `UserMessage`: text, images inline, files as selected context. */
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

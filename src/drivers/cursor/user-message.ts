import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { textOf, type UserMessage } from "../../core/turn.ts";
import { AgentMode } from "../../gen/agent/v1/agent_mode_pb.ts";
import { UserMessageSchema, type UserMessage as WireUserMessage } from "../../gen/agent/v1/user_message_pb.ts";

/** A user's message as the wire has it: text, images inline, files as selected context. */
export function wireUserMessage(message: UserMessage): WireUserMessage {
  const images = message.content.filter((part) => part.type === "image");
  const files = message.content.filter((part) => part.type === "file");
  return create(UserMessageSchema, {
    text: textOf(message.content),
    messageId: randomUUID(),
    mode: AgentMode.AGENT,
    ...(images.length + files.length > 0
      ? {
          selectedContext: {
            selectedImages: images.map(({ mediaType, data }) => ({
              uuid: randomUUID(),
              mimeType: mediaType,
              dataOrBlobId: { case: "data" as const, value: data },
            })),
            files: files.map(({ name, text }) => ({ content: text, path: name, relativePath: name })),
          },
        }
      : {}),
  });
}

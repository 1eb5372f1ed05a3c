import { once } from "node:events";
import { connect } from "node:http2";
import {
  create,
  fromBinary,
  fromJson,
  fromJsonString,
  type JsonValue,
  toBinary,
  toJson,
  toJsonString,
} from "@bufbuild/protobuf";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../../src/gen/agent/v1/run_pb.ts";
import { encodeFrame, FLAG_END, FrameDecoder } from "../../../src/wire/connect/envelope.ts";
import type { ClientMessage } from "./backend-client.ts";

/** What a run over HTTP/2 gets: its status, its messages as JSON, and its end frame. The client has no context and keeps no blobs. */
export async function postRun(url: string, headers: Record<string, string>, body: Uint8Array) {
  const session = connect(url);
  const stream = session.request({ ":method": "POST", ":path": "/agent.v1.AgentService/Run", ...headers });
  stream.write(body);
  const [head] = await once(stream, "response");
  const isJson = headers["content-type"]?.endsWith("json");
  const messages: JsonValue[] = [];
  let end: string | undefined;
  const take = (flags: number, payload: Uint8Array) => {
    const text = Buffer.from(payload).toString("utf8");
    if (flags & FLAG_END) {
      end = text;
      return;
    }
    const message = isJson
      ? fromJsonString(AgentServerMessageSchema, text)
      : fromBinary(AgentServerMessageSchema, payload);
    messages.push(toJson(AgentServerMessageSchema, message));
    const { case: kind, value } = message.message;
    if (kind !== "execServerMessage" && kind !== "kvServerMessage") return;
    const { id } = value;
    const reply = fromJson(
      AgentClientMessageSchema,
      kind === "kvServerMessage"
        ? { kvClientMessage: { id, setBlobResult: {} } }
        : { execClientMessage: { id, requestContextResult: { success: { requestContext: {} } } } },
    );
    const encoded = isJson
      ? Buffer.from(toJsonString(AgentClientMessageSchema, reply))
      : toBinary(AgentClientMessageSchema, reply);
    stream.write(encodeFrame(encoded));
  };
  const decoder = new FrameDecoder({ maxFrameBytes: 1 << 20 });
  for await (const chunk of stream) decoder.push(chunk, take);
  session.close();
  return { status: head[":status"], type: head["content-type"], messages, end };
}

export const saying = (text: string, modelId?: string): ClientMessage => ({
  case: "runRequest",
  value: {
    action: { action: { case: "userMessageAction", value: { userMessage: { text } } } },
    ...(modelId && { requestedModel: { modelId } }),
  },
});
export const encodeMessage = (message: ClientMessage) =>
  toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema, { message }));
export const RUN_HEADERS = { authorization: "Bearer tester", "content-type": "application/connect+proto" };

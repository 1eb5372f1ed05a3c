import { createHash } from "node:crypto";
import {
  create,
  type DescMessage,
  equals,
  fromBinary,
  fromJson,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { GetUsableModelsResponseSchema } from "../../src/gen/agent/v1/model_pb.ts";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { BidiAppendRequestSchema, BidiRequestIdSchema } from "../../src/gen/aiserver/v1/bidi_pb.ts";

/** Known bytes of the wire: encoding gives exactly them, and decoding them gives the message back. */
interface Golden {
  readonly name: string;
  readonly hex: string;
  encode(): Uint8Array;
  /** Whether these bytes are the message. */
  matches(bytes: Uint8Array): boolean;
}

const root = Buffer.from('{"role":"system","content":"Be brief."}');
const rootId = sha256(root);
const rootIdHex = "e57d1ef21a87af392778b05a6fd54e4a3a1d173b56c411c9b997cf1a45fa7dc1";
const composer = "63 6f 6d 70 6f 73 65 72 2d 31";

const client = (
  name: string,
  message: NonNullable<MessageInitShape<typeof AgentClientMessageSchema>["message"]>,
  hex: string,
): Golden => framed(name, AgentClientMessageSchema, { message }, hex);

const server = (
  name: string,
  message: NonNullable<MessageInitShape<typeof AgentServerMessageSchema>["message"]>,
  hex: string,
): Golden => framed(name, AgentServerMessageSchema, { message }, hex);

const transport: Golden[] = [
  client("client heartbeat", { case: "clientHeartbeat", value: {} }, "00 00 00 00 02 3a 00"),
  framed("the body that opens RunSSE", BidiRequestIdSchema, { requestId: "r1" }, "00 00 00 00 04 0a 02 72 31"),
  bare(
    "append 0: the number is absent",
    BidiAppendRequestSchema,
    { data: "3a00", requestId: { requestId: "r1" }, appendSeqno: 0n },
    "0a 04 33 61 30 30 12 04 0a 02 72 31",
  ),
  bare(
    "append 1",
    BidiAppendRequestSchema,
    { data: "3a00", requestId: { requestId: "r1" }, appendSeqno: 1n },
    "0a 04 33 61 30 30 12 04 0a 02 72 31 18 01",
  ),
];

const updates: Golden[] = [
  server(
    "text delta",
    { case: "interactionUpdate", value: { message: { case: "textDelta", value: { text: "hi" } } } },
    "00 00 00 00 08 0a 06 0a 04 0a 02 68 69",
  ),
  server(
    "thinking delta",
    { case: "interactionUpdate", value: { message: { case: "thinkingDelta", value: { text: "hm" } } } },
    "00 00 00 00 08 0a 06 22 04 0a 02 68 6d",
  ),
  server(
    "thinking completed",
    {
      case: "interactionUpdate",
      value: { message: { case: "thinkingCompleted", value: { thinkingDurationMs: 1200 } } },
    },
    "00 00 00 00 07 0a 05 2a 03 08 b0 09",
  ),
  server(
    "token delta",
    { case: "interactionUpdate", value: { message: { case: "tokenDelta", value: { tokens: 3 } } } },
    "00 00 00 00 06 0a 04 42 02 08 03",
  ),
  server(
    "server heartbeat",
    { case: "interactionUpdate", value: { message: { case: "heartbeat", value: {} } } },
    "00 00 00 00 04 0a 02 6a 00",
  ),
  server(
    "turn ended without usage",
    { case: "interactionUpdate", value: { message: { case: "turnEnded", value: {} } } },
    "00 00 00 00 04 0a 02 72 00",
  ),
  server(
    "turn ended with usage",
    {
      case: "interactionUpdate",
      value: { message: { case: "turnEnded", value: { inputTokens: 1200n, outputTokens: 34n } } },
    },
    "00 00 00 00 09 0a 07 72 05 08 b0 09 10 22",
  ),
];

const execs: Golden[] = [
  server(
    "request context, id 0 and no exec id",
    { case: "execServerMessage", value: { message: { case: "requestContextArgs", value: {} } } },
    "00 00 00 00 04 12 02 52 00",
  ),
  server(
    "request context, id 1",
    {
      case: "execServerMessage",
      value: { id: 1, execId: "e1", message: { case: "requestContextArgs", value: {} } },
    },
    "00 00 00 00 0a 12 08 08 01 52 00 7a 02 65 31",
  ),
  client(
    "stream close, id 0",
    { case: "execClientControlMessage", value: { message: { case: "streamClose", value: {} } } },
    "00 00 00 00 04 2a 02 0a 00",
  ),
  client(
    "stream close, id 1",
    { case: "execClientControlMessage", value: { message: { case: "streamClose", value: { id: 1 } } } },
    "00 00 00 00 06 2a 04 0a 02 08 01",
  ),
  client(
    "exec heartbeat",
    { case: "execClientControlMessage", value: { message: { case: "heartbeat", value: { id: 1 } } } },
    "00 00 00 00 06 2a 04 1a 02 08 01",
  ),
  client(
    "throw",
    {
      case: "execClientControlMessage",
      value: { message: { case: "throw", value: { id: 1, error: "nope" } } },
    },
    "00 00 00 00 0c 2a 0a 12 08 08 01 12 04 6e 6f 70 65",
  ),
  server(
    "a client's tool is called",
    {
      case: "execServerMessage",
      value: {
        id: 2,
        execId: "e2",
        message: {
          case: "mcpArgs",
          value: {
            name: "lookup",
            args: { q: { kind: { case: "stringValue", value: "hi" } } },
            toolCallId: "tc1",
            providerIdentifier: "gw",
            toolName: "lookup",
          },
        },
      },
    },
    "00 00 00 00 2e 12 2c 08 02 5a 24 0a 06 6c 6f 6f 6b 75 70 12 09 0a 01 71 12 04 1a 02 68 69 1a 03 74 63 31 22 02 67 77 2a 06 6c 6f 6f 6b 75 70 7a 02 65 32",
  ),
  client(
    "its result",
    {
      case: "execClientMessage",
      value: {
        id: 2,
        execId: "e2",
        message: {
          case: "mcpResult",
          value: {
            result: {
              case: "success",
              value: { content: [{ content: { case: "text", value: { text: "ok" } } }] },
            },
          },
        },
      },
    },
    "00 00 00 00 14 12 12 08 02 5a 0a 0a 08 0a 06 0a 04 0a 02 6f 6b 7a 02 65 32",
  ),
  client(
    "its error",
    {
      case: "execClientMessage",
      value: {
        id: 2,
        execId: "e2",
        message: { case: "mcpResult", value: { result: { case: "error", value: { error: "bad" } } } },
      },
    },
    "00 00 00 00 11 12 0f 08 02 5a 07 12 05 0a 03 62 61 64 7a 02 65 32",
  ),
  server(
    "a streamed shell is asked for",
    {
      case: "execServerMessage",
      value: {
        id: 4,
        execId: "e4",
        message: {
          case: "shellStreamArgs",
          value: { command: "ls", workingDirectory: "/w", timeout: 30_000, toolCallId: "tc2" },
        },
      },
    },
    "00 00 00 00 1b 12 19 08 04 72 11 0a 02 6c 73 12 02 2f 77 18 b0 ea 01 22 03 74 63 32 7a 02 65 34",
  ),
  client(
    "it starts",
    {
      case: "execClientMessage",
      value: {
        id: 4,
        execId: "e4",
        message: { case: "shellStream", value: { event: { case: "start", value: {} } } },
      },
    },
    "00 00 00 00 0c 12 0a 08 04 72 02 22 00 7a 02 65 34",
  ),
  client(
    "it prints",
    {
      case: "execClientMessage",
      value: {
        id: 4,
        execId: "e4",
        message: { case: "shellStream", value: { event: { case: "stdout", value: { data: "a\n" } } } },
      },
    },
    "00 00 00 00 10 12 0e 08 04 72 06 0a 04 0a 02 61 0a 7a 02 65 34",
  ),
  client(
    "it exits with 0",
    {
      case: "execClientMessage",
      value: {
        id: 4,
        execId: "e4",
        message: { case: "shellStream", value: { event: { case: "exit", value: { cwd: "/w" } } } },
      },
    },
    "00 00 00 00 10 12 0e 08 04 72 06 1a 04 12 02 2f 77 7a 02 65 34",
  ),
];

const queries: Golden[] = [
  server(
    "web search, id 0",
    {
      case: "interactionQuery",
      value: {
        query: {
          case: "webSearchRequestQuery",
          value: { args: { searchTerm: "cats", toolCallId: "tc3" } },
        },
      },
    },
    "00 00 00 00 11 3a 0f 12 0d 0a 0b 0a 04 63 61 74 73 12 03 74 63 33",
  ),
  client(
    "approved",
    {
      case: "interactionResponse",
      value: {
        result: {
          case: "webSearchRequestResponse",
          value: { result: { case: "approved", value: {} } },
        },
      },
    },
    "00 00 00 00 06 32 04 12 02 0a 00",
  ),
  client(
    "rejected",
    {
      case: "interactionResponse",
      value: {
        result: {
          case: "webSearchRequestResponse",
          value: { result: { case: "rejected", value: { reason: "no" } } },
        },
      },
    },
    "00 00 00 00 0a 32 08 12 06 12 04 0a 02 6e 6f",
  ),
  client(
    "cancel",
    { case: "conversationAction", value: { action: { case: "cancelAction", value: {} } } },
    "00 00 00 00 04 22 02 1a 00",
  ),
];

const blobs: Golden[] = [
  client(
    "a blob is stored",
    { case: "kvClientMessage", value: { id: 2, message: { case: "setBlobResult", value: {} } } },
    "00 00 00 00 06 1a 04 08 02 1a 00",
  ),
  client(
    "a blob is missing",
    { case: "kvClientMessage", value: { id: 3, message: { case: "getBlobResult", value: {} } } },
    "00 00 00 00 06 1a 04 08 03 12 00",
  ),
  server(
    "get a blob",
    {
      case: "kvServerMessage",
      value: { id: 1, message: { case: "getBlobArgs", value: { blobId: rootId } } },
    },
    `00 00 00 00 28 22 26 08 01 12 22 0a 20 ${rootIdHex}`,
  ),
  client(
    "its content",
    {
      case: "kvClientMessage",
      value: { id: 1, message: { case: "getBlobResult", value: { blobData: root } } },
    },
    `00 00 00 00 2f 1a 2d 08 01 12 29 0a 27 ${root.toString("hex")}`,
  ),
  server(
    "set a blob",
    {
      case: "kvServerMessage",
      value: {
        id: 2,
        message: {
          case: "setBlobArgs",
          value: { blobId: sha256(Buffer.from("hello")), blobData: Buffer.from("hello") },
        },
      },
    },
    "00 00 00 00 2f 22 2d 08 02 1a 29 0a 20 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824 12 05 68 65 6c 6c 6f",
  ),
  server(
    "checkpoint",
    {
      case: "conversationCheckpointUpdate",
      value: { rootPromptMessagesJson: [rootId], tokenDetails: { usedTokens: 1500, maxTokens: 200_000 } },
    },
    `00 00 00 00 2d 1a 2b 0a 20 ${rootIdHex} 2a 07 08 dc 0b 10 c0 9a 0c`,
  ),
  client(
    "run request",
    {
      case: "runRequest",
      value: {
        conversationState: { rootPromptMessagesJson: [rootId] },
        action: {
          action: {
            case: "userMessageAction",
            value: { userMessage: { text: "hi", messageId: "m1" } },
          },
        },
        modelDetails: {
          modelId: "composer-1",
          displayModelId: "composer-1",
          displayName: "composer-1",
        },
        conversationId: "c1",
        requestedModel: { modelId: "composer-1" },
      },
    },
    `00 00 00 00 6c 0a 6a 0a 22 0a 20 ${rootIdHex} 12 0c 0a 0a 0a 08 0a 02 68 69 12 02 6d 31 1a 24 0a 0a ${composer} 1a 0a ${composer} 22 0a ${composer} 2a 02 63 31 4a 0c 0a 0a ${composer}`,
  ),
];

const values: Golden[] = [
  bare("a string", ValueSchema, { kind: { case: "stringValue", value: "hi" } }, "1a 02 68 69"),
  bare("a number", ValueSchema, { kind: { case: "numberValue", value: 3 } }, "11 00 00 00 00 00 00 08 40"),
  bare("true", ValueSchema, { kind: { case: "boolValue", value: true } }, "20 01"),
  bare("null", ValueSchema, { kind: { case: "nullValue", value: 0 } }, "08 00"),
  bare("a list", ValueSchema, fromJson(ValueSchema, [1]), "32 0b 0a 09 11 00 00 00 00 00 00 f0 3f"),
  bare(
    "a JSON Schema",
    ValueSchema,
    fromJson(ValueSchema, { type: "object", properties: { q: { type: "string" } }, required: ["q"] }),
    "2a 54 0a 10 0a 04 74 79 70 65 12 08 1a 06 6f 62 6a 65 63 74 0a 2b 0a 0a 70 72 6f 70 65 72 74 69 65 73 12 1d 2a 1b 0a 19 0a 01 71 12 14 2a 12 0a 10 0a 04 74 79 70 65 12 08 1a 06 73 74 72 69 6e 67 0a 13 0a 08 72 65 71 75 69 72 65 64 12 07 32 05 0a 03 1a 01 71",
  ),
  bare(
    "a list of models",
    GetUsableModelsResponseSchema,
    {
      models: [
        {
          modelId: "composer-1",
          displayModelId: "composer-1",
          displayName: "Composer 1",
          displayNameShort: "Composer 1",
        },
      ],
    },
    `0a 30 0a 0a ${composer} 1a 0a ${composer} 22 0a 43 6f 6d 70 6f 73 65 72 20 31 2a 0a 43 6f 6d 70 6f 73 65 72 20 31`,
  ),
];

describe.each(Object.entries({ transport, updates, execs, queries, blobs, values }))("%s", (_, rows) => {
  test.each(rows)("$name", (golden) => {
    const bytes = fromHex(golden.hex);
    expect(Buffer.from(golden.encode()).toString("hex")).toBe(bytes.toString("hex"));
    expect(golden.matches(bytes)).toBe(true);
  });
});

test("the end of a stream", () => {
  expect(frame(2, Buffer.from("{}"))).toEqual(fromHex("02 00 00 00 02 7b 7d"));
});

test("the id of a blob is the hash of its content", () => {
  expect(rootId.toString("hex")).toBe(rootIdHex);
});

/** A message as a unary body carries it. */
function bare<Desc extends DescMessage>(name: string, schema: Desc, init: MessageInitShape<Desc>, hex: string): Golden {
  const message = create(schema, init);
  return {
    name,
    hex,
    encode: () => toBinary(schema, message),
    matches: (bytes) => equals(schema, fromBinary(schema, bytes), message),
  };
}

/** A message as a stream carries it. */
function framed<Desc extends DescMessage>(
  name: string,
  schema: Desc,
  init: MessageInitShape<Desc>,
  hex: string,
): Golden {
  const golden = bare(name, schema, init, hex);
  return {
    ...golden,
    encode: () => frame(0, golden.encode()),
    matches: (bytes) => golden.matches(bytes.subarray(5)),
  };
}

function frame(flags: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

function fromHex(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(" ", ""), "hex");
}

function sha256(content: Uint8Array): Buffer {
  return createHash("sha256").update(content).digest();
}

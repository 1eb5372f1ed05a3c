import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { ModelDetailsSchema, RequestedModelSchema } from "../../gen/agent/v1/model_pb.ts";
import { AgentClientMessageSchema, AgentRunRequestSchema, PrewarmRequestSchema } from "../../gen/agent/v1/run_pb.ts";

/** The prefix of our own models in Cursor's clients. */
export const OWN_PREFIX = "excursor/";

const { runRequest, prewarmRequest } = AgentClientMessageSchema.field;

/** The message that opens a run. */
export interface RunOpening {
  readonly type: "run";
  readonly model: string | undefined;
  /** The whole message. */
  readonly payload: Uint8Array;
}

/** What a message says about its run. `none`: it opens no run, so that the next one decides. */
type Opening = RunOpening | { readonly type: "none" };

/**
 * Reads the model from an `AgentClientMessage` without decoding the rest, which may be megabytes of state. Throws if the
 * message is not protobuf.
 */
export function readOpening(payload: Uint8Array): Opening {
  const run = fieldOf(payload, runRequest.number);
  if (run) {
    const { requestedModel, modelDetails } = AgentRunRequestSchema.field;
    return { type: "run", payload, model: modelIn(run, requestedModel.number, modelDetails.number) };
  }
  const prewarm = fieldOf(payload, prewarmRequest.number);
  if (!prewarm) return { type: "none" };
  const { requestedModel, modelDetails } = PrewarmRequestSchema.field;
  return { type: "run", payload, model: modelIn(prewarm, requestedModel.number, modelDetails.number) };
}

/** `requested_model` wins over the older `model_details`. */
function modelIn(request: Uint8Array, requested: number, details: number): string | undefined {
  const fromRequested = idIn(fieldOf(request, requested), RequestedModelSchema.field.modelId.number);
  return fromRequested || idIn(fieldOf(request, details), ModelDetailsSchema.field.modelId.number);
}

function idIn(message: Uint8Array | undefined, number: number): string | undefined {
  const id = message && fieldOf(message, number);
  return id && Buffer.from(id.buffer, id.byteOffset, id.length).toString("utf8");
}

/** Returns the bytes of a length-delimited field; of a repeated one the last, as protobuf does. */
function fieldOf(message: Uint8Array, number: number): Uint8Array | undefined {
  const reader = new BinaryReader(message);
  let found: Uint8Array | undefined;
  while (reader.pos < reader.len) {
    const [no, wireType] = reader.tag();
    if (no === number && wireType === WireType.LengthDelimited) found = reader.bytes();
    else reader.skip(wireType, no);
  }
  return found;
}

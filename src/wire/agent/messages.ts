import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { InteractionUpdateSchema } from "../../gen/agent/v1/interaction_pb.ts";
import { AgentClientMessageSchema, type AgentServerMessageSchema } from "../../gen/agent/v1/run_pb.ts";

/** A message of the client on a run: the member of an `AgentClientMessage`. */
export type ClientMessage = MessageInitShape<typeof AgentClientMessageSchema>["message"] & object;

/** A message of the backend on a run: the member of an `AgentServerMessage`. */
export type ServerMessage = MessageInitShape<typeof AgentServerMessageSchema>["message"] & object;

export type Update = MessageInitShape<typeof InteractionUpdateSchema>["message"] & object;

export const encodeClientMessage = (message: ClientMessage): Uint8Array =>
  toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema, { message }));

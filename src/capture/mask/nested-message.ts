import type { DescMessage } from "@bufbuild/protobuf";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../gen/agent/v1/run_pb.ts";
import type { Leaf } from "./leaves.ts";

/** A message inside a field of bytes or text. */
export interface NestedMessage {
  readonly schema: DescMessage;
  readonly isHex: boolean;
}

const NESTED: Readonly<Record<string, NestedMessage>> = {
  "aiserver.v1.BidiAppendRequest.data": { schema: AgentClientMessageSchema, isHex: true },
  "aiserver.v1.BidiAppendRequest.data_binary": { schema: AgentClientMessageSchema, isHex: false },
  "aiserver.v1.BidiPollResponse.data": { schema: AgentServerMessageSchema, isHex: true },
};

/** Returns the kind of message in a leaf, if it holds one. */
export const nestedMessage = ({ owner, name }: Pick<Leaf, "owner" | "name">): NestedMessage | undefined =>
  owner?.startsWith("aiserver.v1.Bidi") ? NESTED[`${owner}.${name}`] : undefined;

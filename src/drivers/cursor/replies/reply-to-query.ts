import { create } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import {
  type InteractionQuery,
  type InteractionResponse,
  InteractionResponseSchema,
} from "../../../gen/agent/v1/query_pb.ts";
import { unknownMember } from "../../../wire/agent/member.ts";

const REASON = "Nobody is there to ask: this client works without a person.";

/**
 * Replies for a client without a user to ask. Approves what the backend does by itself, and declines what needs a
 * person or this machine. Unknown queries get a reply, too: without one the turn would hang.
 */
export function replyToQuery(asked: InteractionQuery): InteractionResponse {
  const { id, query } = asked;
  const approved = { result: { case: "approved" as const, value: {} } };
  const rejected = { result: { case: "rejected" as const, value: { reason: REASON } } };
  const respond = (result: NonNullable<Parameters<typeof create<typeof InteractionResponseSchema>>[1]>["result"]) =>
    create(InteractionResponseSchema, { id, ...(result ? { result } : {}) });
  switch (query.case) {
    case "webSearchRequestQuery":
      return respond({ case: "webSearchRequestResponse", value: approved });
    case "webFetchRequestQuery":
      return respond({ case: "webFetchRequestResponse", value: approved });
    case "switchModeRequestQuery":
      return respond({ case: "switchModeRequestResponse", value: rejected });
    case "exaSearchRequestQuery":
      return respond({ case: "exaSearchRequestResponse", value: rejected });
    case "exaFetchRequestQuery":
      return respond({ case: "exaFetchRequestResponse", value: rejected });
    case "mcpAuthRequestQuery":
      return respond({ case: "mcpAuthRequestResponse", value: rejected });
    case "askQuestionInteractionQuery":
      return respond({
        case: "askQuestionInteractionResponse",
        value: { result: { result: { case: "rejected", value: { reason: REASON } } } },
      });
    case "createPlanRequestQuery":
      return respond({
        case: "createPlanRequestResponse",
        value: { result: { result: { case: "success", value: {} } } },
      });
    case "setupVmEnvironmentArgs":
      return respond({ case: "setupVmEnvironmentResult", value: { result: { case: "success", value: {} } } });
    case "prManagementRequestQuery":
      return respond({
        case: "prManagementRequestResponse",
        value: { result: { case: "rejected", value: { reason: REASON } } },
      });
    case "generateImageRequestQuery":
      return respond({
        case: "generateImageRequestResponse",
        value: { result: { case: "rejected", value: { reason: REASON } } },
      });
    case "connectScmRequestQuery":
      return respond({
        case: "connectScmRequestResponse",
        value: { result: { case: "rejected", value: { reason: REASON } } },
      });
    case "replaceEnvArgs":
      return respond({
        case: "replaceEnvResult",
        value: { result: { case: "failure", value: { errorMessage: REASON } } },
      });
    case undefined: {
      const response = create(InteractionResponseSchema, { id });
      const member = unknownMember(asked);
      if (member !== undefined) response.$unknown = [rejectShape(member)];
      return response;
    }
  }
}

/** Encodes `{2: {1: reason}}`, the rejection in nearly every response type. */
function rejectShape(member: number) {
  const reason = Buffer.from(REASON);
  const inner = Buffer.concat([Buffer.of(0x0a, reason.length), reason]);
  const outer = Buffer.concat([Buffer.of(0x12, inner.length), inner]);
  return { no: member, wireType: WireType.LengthDelimited, data: Buffer.concat([Buffer.of(outer.length), outer]) };
}

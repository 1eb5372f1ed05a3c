import type { MessageInitShape } from "@bufbuild/protobuf";
import type { JsonObject, ToolDefinition, ToolMessage } from "../../../../core/turn.ts";
import type { ExecClientMessageSchema } from "../../../../gen/agent/v1/exec_pb.ts";
import { type Argument, alike, fitArguments } from "./fit-tool.ts";

/** The typed result of a native request. */
export type ExecResult = MessageInitShape<typeof ExecClientMessageSchema>["message"] & object;

/** One way in which a client may do what the model asks natively. */
export interface Route<Request> {
  /** What clients call the tool, the best first. */
  readonly tools: readonly string[];
  /** Nothing for a request that the tool could not do, whatever it is told. */
  readonly args: (request: Request, tool: ToolDefinition) => readonly Argument[] | undefined;
  /** What the client said, as what the model expects. Never throws. */
  readonly results: (request: Request, said: ToolMessage, given: JsonObject) => readonly ExecResult[];
}

export interface Taken {
  readonly name: string;
  readonly args: JsonObject;
  readonly results: (said: ToolMessage) => readonly ExecResult[];
}

/** The first route that leads to a tool of the client. */
export function takeRoute<Request>(
  request: Request,
  routes: readonly Route<Request>[],
  tools: readonly ToolDefinition[],
): Taken | undefined {
  for (const route of routes) {
    for (const name of route.tools) {
      for (const tool of tools) {
        const wanted = alike(tool.name, name) ? route.args(request, tool) : undefined;
        const args = wanted && fitArguments(tool, wanted);
        if (args) return { name: tool.name, args, results: (said) => route.results(request, said, args) };
      }
    }
  }
  return undefined;
}

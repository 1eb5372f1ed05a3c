import type { MessageInitShape } from "@bufbuild/protobuf";
import type { JsonObject, ToolDefinition, ToolMessage } from "../../../../core/turn.ts";
import type { ExecClientMessageSchema } from "../../../../gen/agent/v1/exec_pb.ts";
import { type Argument, alike, fitArguments } from "./fit-tool.ts";

/** The typed result of a native request. */
export type ExecResult = MessageInitShape<typeof ExecClientMessageSchema>["message"] & object;

/** A way to serve a native request with a client's tool. */
export interface Route<Request> {
  /** The clients' names for the tool, the best first. */
  readonly tools: readonly string[];
  /** Returns undefined if the tool cannot serve the request. */
  readonly args: (request: Request, tool: ToolDefinition) => readonly Argument[] | undefined;
  /** Converts the tool's result to the native result. Never throws. */
  readonly results: (request: Request, said: ToolMessage, given: JsonObject) => readonly ExecResult[];
}

export interface Taken {
  readonly name: string;
  readonly args: JsonObject;
  readonly results: (said: ToolMessage) => readonly ExecResult[];
}

/** Returns the first route for which the client has a tool. */
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

import { create } from "@bufbuild/protobuf";
import type { JsonObject } from "../../../../core/turn.ts";
import { type TodoItem, TodoItemSchema, TodoStatus } from "../../../../gen/agent/v1/plan_pb.ts";
import { type CursorTool, objectSchema, outcome, ToolProblem, toolCall } from "./tool.ts";

const STATUSES: Readonly<Record<string, TodoStatus>> = {
  pending: TodoStatus.PENDING,
  in_progress: TodoStatus.IN_PROGRESS,
  completed: TodoStatus.COMPLETED,
  cancelled: TodoStatus.CANCELLED,
};

/** Keeps the todo list of the conversation, which is part of the state that the client keeps. */
export const todoTool: CursorTool = {
  definition: {
    name: "todo",
    description:
      "Writes the todo list of a task with several steps. With merge, items are changed by their id; otherwise the list is replaced.",
    schema: objectSchema(
      {
        todos: {
          type: "array",
          items: objectSchema(
            {
              id: { type: "string" },
              content: { type: "string" },
              status: { type: "string", enum: Object.keys(STATUSES) },
            },
            "id",
            "content",
            "status",
          ),
        },
        merge: { type: "boolean" },
      },
      "todos",
    ),
  },
  listedAs: ["update_todos_tool_call"],
  isReadOnly: true,
  display: (args, callId) =>
    toolCall(callId, {
      case: "updateTodosToolCall",
      value: { args: { todos: [...itemsOf(args)], merge: args["merge"] === true } },
    }),
  run(args, site) {
    if (!Array.isArray(args["todos"])) throw new ToolProblem("todos: expected a list.");
    const [items, merge] = [itemsOf(args), args["merge"] === true];
    const changed = new Map((merge ? site.todos : []).map((item) => [item.id, item]));
    for (const item of items) changed.set(item.id, item);
    const todos = [...changed.values()];
    site.todos = todos;
    const success = { case: "success" as const, value: { todos, totalCount: todos.length, wasMerge: merge } };
    const display = toolCall(site.callId, {
      case: "updateTodosToolCall",
      value: { args: { todos: [...items], merge }, result: { result: success } },
    });
    const lines = todos.map(({ content, status }) => `[${nameOf(status)}] ${content}`);
    return Promise.resolve(outcome(lines.join("\n") || "The list is empty.", false, display));
  },
};

const nameOf = (status: TodoStatus): string =>
  Object.keys(STATUSES).find((name) => STATUSES[name] === status) ?? "pending";

function itemsOf({ todos }: JsonObject): readonly TodoItem[] {
  if (!Array.isArray(todos)) return [];
  return (todos as readonly JsonObject[]).map((item, index) =>
    create(TodoItemSchema, {
      id: String(item?.["id"] ?? index + 1),
      content: String(item?.["content"] ?? ""),
      status: STATUSES[String(item?.["status"])] ?? TodoStatus.PENDING,
    }),
  );
}

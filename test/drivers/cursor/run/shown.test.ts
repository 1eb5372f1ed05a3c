import { expect, it } from "vitest";
import { historyKeys } from "../../../../src/core/history/history-key.ts";
import type { Message } from "../../../../src/core/turn.ts";
import { Shown } from "../../../../src/drivers/cursor/run/shown.ts";
import { assistant, user } from "../support/driver-stage.ts";

it("text after the last call belongs to the answer that called, and not to the next one", () => {
  const shown = new Shown();
  const call = { type: "tool-call", id: "c", name: "look", args: {} } as const;
  shown.begin([user("hi")]);
  shown.text("before");
  shown.call(call);
  shown.text("after");
  const history: Message[] = [
    user("hi"),
    { role: "assistant", content: [{ type: "text", text: "beforeafter" }, call] },
    { role: "tool", callId: "c", content: [{ type: "text", text: "seen" }], isError: false },
  ];
  expect(shown.historyKey()).toBe(historyKeys(history.slice(0, 2)).at(-1));
  shown.begin([user("hi")]);
  shown.call(call);
  shown.text("after");
  shown.begin(history);
  shown.text("the end");
  expect(shown.historyKey()).toBe(historyKeys([...history, assistant("the end")]).at(-1));
});

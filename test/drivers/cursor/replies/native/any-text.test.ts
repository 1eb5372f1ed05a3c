import { toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ToolDefinition } from "../../../../../src/core/turn.ts";
import { ExecClientMessageSchema } from "../../../../../src/gen/agent/v1/exec_pb.ts";
import { type Asked, call, said, tool } from "./support/native-stage.ts";

const SHELL = tool("bash", "command");
const toolCallId = "call";
const KINDS: readonly (readonly [string, Asked, ToolDefinition])[] = [
  ["shellResult", { case: "shellArgs", value: { toolCallId, command: "x" } }, SHELL],
  ["miniSweAgentBashResult", { case: "miniSweAgentBashArgs", value: { toolCallId, command: "x" } }, SHELL],
  ["shellStream", { case: "shellStreamArgs", value: { toolCallId, command: "x" } }, SHELL],
  ["readResult", { case: "readArgs", value: { toolCallId, path: "/w/a" } }, tool("read", "path")],
  ["readResult", { case: "readArgs", value: { toolCallId, path: "/w/a", offset: 3 } }, SHELL],
  ["writeResult", { case: "writeArgs", value: { toolCallId, path: "/w/a" } }, tool("write", "path", "content")],
  ["deleteResult", { case: "deleteArgs", value: { toolCallId, path: "/w/a" } }, tool("delete_file", "path")],
  ["deleteResult", { case: "deleteArgs", value: { toolCallId, path: "/w/a" } }, SHELL],
  ["lsResult", { case: "lsArgs", value: { toolCallId, path: "/w" } }, tool("ls", "path")],
  ["lsResult", { case: "lsArgs", value: { toolCallId, path: "/w" } }, SHELL],
  ["grepResult", { case: "grepArgs", value: { toolCallId, pattern: "x", path: "/w" } }, tool("grep", "pattern")],
  ["grepResult", { case: "grepArgs", value: { toolCallId, pattern: "x", outputMode: "count" } }, SHELL],
  ["grepResult", { case: "grepArgs", value: { toolCallId, glob: "*" } }, tool("glob", "pattern")],
  ["grepResult", { case: "grepArgs", value: { toolCallId, glob: "*" } }, SHELL],
  ["fetchResult", { case: "fetchArgs", value: { toolCallId, url: "u" } }, tool("fetch", "url")],
  ["diagnosticsResult", { case: "diagnosticsArgs", value: { toolCallId, path: "/w/a" } }, tool("diagnostics", "path")],
];

/** Texts that look like what clients say. */
const piece = fc.constantFrom(
  ..."\n \t:-/→|()[]0123456789",
  ..."exit code: ,Exit code 99999999999,/w/,File: ,Line ,L,<file>\n,</file>,<content>,</content>,Found 3 files,".split(
    ",",
  ),
  ..."Output:\n,Wall time: 1\n,Process exited with code ,(End of file - total 99999999999 lines),├── ,[DIR] ,Error: ,--".split(
    ",",
  ),
  ...'{"output":"x";"metadata":{"exit_code":;1.5}};<system-reminder>;</system-reminder>;__proto__;constructor;:7:'.split(
    ";",
  ),
);
const words = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.oneof(piece, fc.string()), { maxLength: 30 }).map((all) => all.join("")),
);

test.each(KINDS)("%s of any text is well formed (%#)", (member, asked, definition) => {
  const mapped = call(asked, definition);
  fc.assert(
    fc.property(words, fc.boolean(), (text, isError) => {
      const replies = mapped.reply(said(text, isError));
      expect(replies.length).toBe(member === "shellStream" ? 3 : 1);
      for (const reply of replies) {
        expect(reply).toMatchObject({ id: 7, message: { case: member } });
        // What the wire cannot hold throws here.
        expect(toBinary(ExecClientMessageSchema, reply).length).toBeGreaterThan(0);
      }
    }),
  );
});

/** A search by a shell is not failed by what is only an empty find, nor by one directory that may not be read. */
const failing = KINDS.filter(([member, , { name }]) => member !== "grepResult" || name !== SHELL.name);

test.each(failing)("%s of a failure is one (%#)", (member, asked, definition) => {
  const mapped = call(asked, definition);
  fc.assert(
    fc.property(words, (text) => {
      const last = mapped.reply(said(text, true)).at(-1)?.message.value;
      if (member === "shellStream")
        expect(last).toMatchObject({ event: { case: "exit", value: { code: expect.toSatisfy((code) => code > 0) } } });
      else expect(last).toMatchObject({ result: { case: expect.stringMatching(/^(?:error|failure|fileNotFound)$/) } });
    }),
  );
});

test.each(KINDS)("%s of a long text takes no long time (%#)", (_, asked, definition) => {
  const mapped = call(asked, definition);
  for (const part of ["\n", " ", "1", "a:", "a-1-", "|-", "<file>\n", "(", "\t\n", "error "]) {
    mapped.reply(said(part.repeat(200_000 / part.length)));
    mapped.reply(said(`${part.repeat(200_000 / part.length)}x`, true));
  }
});

import { create, equals, fromBinary, type MessageInitShape, toBinary, toJson } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { expect, test } from "vitest";
import { ErrorDetails_Error as Code, ErrorDetailsSchema } from "../../src/gen/aiserver/v1/error_pb.ts";

const samples: [name: string, init: MessageInitShape<typeof ErrorDetailsSchema>, base64: string][] = [
  [
    "unauthorized, as observed",
    {
      error: Code.UNAUTHORIZED,
      details: { title: "Unauthorized request.", detail: "User is unauthorized", isRetryable: false },
      isExpected: true,
    },
    "CCYSLwoVVW5hdXRob3JpemVkIHJlcXVlc3QuEhRVc2VyIGlzIHVuYXV0aG9yaXplZCAAGAE",
  ],
  [
    "not logged in",
    { error: Code.NOT_LOGGED_IN, details: { title: "Not logged in", detail: "Please log in" } },
    "CAISHgoNTm90IGxvZ2dlZCBpbhINUGxlYXNlIGxvZyBpbg",
  ],
  ["deprecated", { error: Code.DEPRECATED }, "CCg"],
  ["rate limited", { error: Code.RATE_LIMITED }, "CDI"],
];

test.each(samples)("%s", (_, init, base64) => {
  const message = create(ErrorDetailsSchema, init);
  expect(base64Encode(toBinary(ErrorDetailsSchema, message), "std_raw")).toBe(base64);
  expect(equals(ErrorDetailsSchema, fromBinary(ErrorDetailsSchema, base64Decode(base64)), message)).toBe(true);
});

test("the JSON view has the names that clients look for", () => {
  const message = create(ErrorDetailsSchema, {
    error: Code.UNAUTHORIZED,
    details: { title: "No", detail: "Not you", isRetryable: false },
    isExpected: true,
  });
  expect(toJson(ErrorDetailsSchema, message)).toEqual({
    error: "ERROR_UNAUTHORIZED",
    details: { title: "No", detail: "Not you", isRetryable: false },
    isExpected: true,
  });
});

test("an error number we have no name for is kept", () => {
  const bytes = Uint8Array.of(0x08, 0xe7, 0x07);
  const message = fromBinary(ErrorDetailsSchema, bytes);
  expect(message.error).toBe(999);
  expect(toBinary(ErrorDetailsSchema, message)).toEqual(bytes);
});

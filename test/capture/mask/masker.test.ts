import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Masker } from "../../../src/capture/mask/masker.ts";

const TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhdXRoMHwxMjMifQ.c2lnbmF0dXJl";
const KEY = `sk-${"q7".repeat(15)}`;

describe("SEC-52 no secret is shown", () => {
  test.each([
    ["a token by its shape", `x ${TOKEN} y`, TOKEN],
    ["a bearer token", "authorization: Bearer abcdefgh12345678", "abcdefgh12345678"],
    ["an API key", `x ${KEY} y`, KEY],
    ["an e-mail address", "mail ada.lovelace@example.com now", "ada.lovelace@example.com"],
    ["an address in a URL", "/me?mail=ada%40example.com&x=1", "ada%40example.com"],
    ["a password in an address", "https://user:hunter2hunter2@host/", "hunter2hunter2"],
    ["a name in an address with other letters", "mail j\u00f6rg.m\u00fcller@example.de now", "j\u00f6rg.m\u00fcller"],
    ["a variable of a file .env", "DB_PASSWORD=correct-horse-battery", "correct-horse-battery"],
    ["a variable in quotes", "export OPENAI_API_KEY='abcdefgh12345678'", "abcdefgh12345678"],
    ["a variable in JSON", '{"text":"A=1\\nMY_SECRET=hunter2hunter2\\nB=2"}', "hunter2hunter2"],
    ["a password in YAML", "password: hunter2hunter2", "hunter2hunter2"],
    ["a password in code", 'const apiKey = "hunter2hunter2";', "hunter2hunter2"],
    ["a token in a URL", "https://x.test/cb?access_token=abcdef0123456789&x=1", "abcdef0123456789"],
    ["a header in a command", "curl -H 'x-api-key: abcdef0123456789'", "abcdef0123456789"],
    ["Basic authorization", "Authorization: Basic dXNlcjpodW50ZXIy", "dXNlcjpodW50ZXIy"],
    ["a token for npm", "_authToken=abcdef0123456789", "abcdef0123456789"],
    ["a key of AWS", "id AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"],
    ["a key of Google", `id AIza${"q7".repeat(17)}`, "q7q7q7q7"],
    ["a token of GitLab", "id glpat-abcdefghijklmnopqrst", "abcdefghijklmnopqrst"],
    ["a token of npm", `id npm_${"q7".repeat(18)}`, "q7q7q7q7"],
    ["a token of a GitHub app", `id ghs_${"q7".repeat(18)}`, "q7q7q7q7"],
    ["a token of Slack", "id xoxe-1-abcdefghijklmnop", "abcdefghijklmnop"],
    [
      "a private key",
      "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END RSA PRIVATE KEY-----",
      "MIIEvQIB",
    ],
  ])("masks %s with the same length", (_, text, secret) => {
    const masked = new Masker().text(text);
    expect(masked).not.toContain(secret);
    expect(Buffer.byteLength(masked)).toBe(Buffer.byteLength(text));
  });

  test.each([
    "const token = getToken(request);",
    "apiKey: process.env.OPENAI_API_KEY,",
    "TOKEN=$OTHER_TOKEN make",
    "the password: it is required",
    '{"max_token":100000000,"token":12345678}',
    "a sentence about tokens, keys and secrets",
  ])("leaves code and words alone: %s", (text) => {
    expect(new Masker().text(text)).toBe(text);
  });

  test("keeps the JSON around a private key valid", () => {
    const text = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nabcdefghijklmnop\n-----END PRIVATE KEY-----\n";
    const masked = JSON.parse(new Masker().text(JSON.stringify({ text })));
    expect(masked.text).toHaveLength(text.length);
    expect(masked.text.split("\n").map(({ length }: string) => length)).toEqual([27, 24, 16, 25, 0]);
  });

  test.each(["Bearer ", "token=", "API_KEY=", ""])("gives a secret behind %j the mask that it has alone", (before) => {
    for (const secret of [TOKEN, KEY, "correct-horse-battery1"]) {
      const masker = new Masker();
      masker.add("correct-horse-battery1");
      expect(masker.text(`${before}${secret}`)).toBe(before + masker.text(secret));
    }
  });

  test("masks a registered secret in every form, between binary bytes", () => {
    const masker = new Masker(["correct-horse-battery"]);
    const forms = [
      "correct-horse-battery",
      ...(["base64", "hex"] as const).map((form) => Buffer.from("correct-horse-battery").toString(form)),
    ];
    for (const form of forms) {
      const bytes = Buffer.concat([Buffer.from([0x0a, 0xff, 0x00]), Buffer.from(form), Buffer.from([0x12, 0x80])]);
      const masked = Buffer.from(masker.withoutKnown(bytes));
      expect(masked.includes(form)).toBe(false);
      expect(masked.length).toBe(bytes.length);
      expect([...masked.subarray(0, 3), ...masked.subarray(-2)]).toEqual([0x0a, 0xff, 0x00, 0x12, 0x80]);
    }
  });

  test("the mask of a text in hex is the hex of a text", () => {
    const masker = new Masker(["correct-horse-battery"]);
    const masked = masker.text(Buffer.from("a correct-horse-battery b").toString("hex"));
    expect(Buffer.from(masked, "hex").toString()).toMatch(/^a [xyz]{7}-[xyz]{5}-[xyz]{7} b$/);
  });

  test("gives a secret the same mask everywhere, and another masker another one", () => {
    const [one, other] = [new Masker(), new Masker()];
    expect(one.text(`a ${TOKEN}`).slice(2)).toBe(one.text(`bb ${TOKEN}`).slice(3));
    expect(one.text(TOKEN)).not.toBe(other.text(TOKEN));
  });

  test("leaves what is masked as it is", () => {
    const text = `Bearer ${TOKEN}, ${KEY} of ada.lovelace@example.com, DB_PASSWORD=correct-horse-battery\n/home/ada`;
    const masked = new Masker().text(text);
    expect(masked).not.toMatch(/lovelace|horse|q7|home\/ada/);
    expect(new Masker().text(masked)).toBe(masked);
  });

  test("keeps the length of any bytes", () => {
    const masker = new Masker(["/home/ada"]);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const around = Buffer.concat([bytes, Buffer.from("/home/ada"), bytes]);
        const masked = Buffer.from(around);
        masker.mask(masked);
        expect(masked.length).toBe(around.length);
        expect(masked.includes("/home/ada")).toBe(false);
      }),
    );
  });
});

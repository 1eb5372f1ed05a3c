import { describe, expect, it } from "vitest";
import { isSecretValue } from "../../../src/core/access/environment-secrets.ts";

describe("what of a program's environment is a secret", () => {
  it.each([
    ["ANTHROPIC_API_KEY", "a-key-of-mine"],
    ["OPENAI_APIKEY", "a-key-of-mine"],
    ["ANTHROPIC_AUTH_TOKEN", "hunter2hunter2"],
    ["DB_PASSWORD", "correct horse"],
    ["DB_PWD", "correct horse"],
    ["AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG"],
    ["KEY_1", "12345678"],
    ["GITHUB_PAT", "12345678"],
    ["SESSION_COOKIE", "abcdefgh"],
    ["ANYTHING", `sk-${"0a".repeat(12)}`],
    ["ANYTHING", "ghp_0123456789abcdef0123"],
    ["ANYTHING", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"],
    ["DATABASE_URL", "postgres://me:hunter2@db.example/app"],
    ["ANYTHING", "3f786850e387550fdab836ed7e6dc881de23001b"],
    ["ANYTHING", "kX9vQ2mT7pLr4WzB8nYc1dFh-6Gs3jKe5uAo"],
  ])("%s=%s", (name, value) => expect(isSecretValue(name, value)).toBe(true));

  it.each([
    ["LEVEL", "3"],
    ["NODE_ENV", "production"],
    ["NOTES", "/home/me/projects/notes-of-2026"],
    ["PWD", "/home/me/projects"],
    ["ANTHROPIC_BASE_URL", "http://127.0.0.1:8787"],
    ["CLAUDE_CODE_MAX_OUTPUT_TOKENS", "128000000"],
    ["GOOGLE_APPLICATION_CREDENTIALS_FILE", "/home/me/google.json"],
    ["TOKEN_ENDPOINT", "https://login.example/token"],
    ["ANTHROPIC_MODEL", "claude-sonnet-4-5-20250929-with-a-long-name"],
    ["OPENCODE_PERMISSION", '{"edit":"ask","bash":"ask","webfetch":"ask"}'],
    ["SSH_AUTH_SOCK", "/run/user/1000/ssh-agent"],
    ["API_KEY", "none"],
  ])("not %s=%s", (name, value) => expect(isSecretValue(name, value)).toBe(false));
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Masker } from "../../../src/capture/mask/masker.ts";
import { findSecrets, replaceSecrets } from "../../../src/core/access/secret-scanner.ts";
import { createRedactor } from "../../../src/observe/redactor.ts";

const letters = (count: number) => "q7Zk2Wm9".repeat(20).slice(0, count);
const hex = (count: number) => "3fa85f64".repeat(20).slice(0, count);

/** As the documents of each service show them. Put together here, so that no scanner takes them for real ones. */
const TOKENS: Readonly<Record<string, string>> = {
  Excursor: `exc_${letters(43)}`,
  Cursor: `crsr_${hex(64)}`,
  "Cursor, older": `key_${hex(64)}`,
  "GitHub, personal": `ghp_${letters(36)}`,
  "GitHub, OAuth": `gho_${letters(36)}`,
  "GitHub, app": `ghs_${letters(36)}`,
  "GitHub, fine-grained": `github_pat_${letters(22)}_${letters(59)}`,
  GitLab: `glpat-${letters(20)}`,
  "GitLab, runner": `glrt-${letters(20)}`,
  "Slack, bot": `xoxb-123456789012-${letters(24)}`,
  "Slack, rotated": `xoxe.xoxp-1-${letters(40)}`,
  "Slack, app": `xapp-1-${letters(40)}`,
  "Slack, webhook": `hooks.slack.com/services/T0${letters(8)}/B0${letters(8)}/${letters(24)}`,
  Stripe: `sk_live_${letters(24)}`,
  "Stripe, restricted": `rk_live_${letters(24)}`,
  "Stripe, webhook": `whsec_${letters(32)}`,
  AWS: `AKIA${"Q7ZK".repeat(4)}`,
  "AWS, temporary": `ASIA${"Q7ZK".repeat(4)}`,
  Google: `AIza${letters(35)}`,
  "Google, OAuth": `ya29.${letters(60)}`,
  "Google, client": `GOCSPX-${letters(28)}`,
  OpenAI: `sk-proj-${letters(48)}`,
  Anthropic: `sk-ant-api03-${letters(80)}`,
  OpenRouter: `sk-or-v1-${hex(64)}`,
  xAI: `xai-${letters(80)}`,
  Groq: `gsk_${letters(52)}`,
  Perplexity: `pplx-${letters(48)}`,
  Replicate: `r8_${letters(37)}`,
  npm: `npm_${letters(36)}`,
  PyPI: `pypi-AgEIcHlwaS5vcmc${letters(60)}`,
  RubyGems: `rubygems_${hex(48)}`,
  Docker: `dckr_pat_${letters(27)}`,
  "Hugging Face": `hf_${letters(34)}`,
  JWT: `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.${letters(43)}`,
  SendGrid: `SG.${letters(22)}.${letters(43)}`,
  Twilio: `SK${hex(32)}`,
  Mailgun: `key-${hex(32)}`,
  Azure: `q7Z8Q~${letters(34)}`,
  DigitalOcean: `dop_v1_${hex(64)}`,
  Shopify: `shpat_${hex(32)}`,
  Vault: `hvs.${letters(24)}`,
  Databricks: `dapi${hex(32)}`,
  Grafana: `glsa_${letters(32)}_${hex(8)}`,
  Linear: `lin_api_${letters(40)}`,
  Notion: `ntn_${letters(46)}`,
  Postman: `PMAK-${hex(24)}-${hex(34)}`,
  Supabase: `sbp_${hex(40)}`,
  Doppler: `dp.pt.${letters(43)}`,
  Discord: `M${letters(23)}.${letters(6)}.${letters(27)}`,
  Telegram: `1234567890:AA${letters(33)}`,
  Atlassian: `ATATT3xFfGF0${letters(60)}=8A1B2C3D`,
};
const NAMES = [
  "password",
  "passwd",
  "DB_PASS",
  "passphrase",
  "secret",
  "token",
  "accessToken",
  "refresh_token",
  "api_key",
  "x-api-key",
  "apikey",
  "client_secret",
  "private_key",
  "secretAccessKey",
  "AccountKey",
  "credentials",
  "authorization",
  "cookie",
  "_authToken",
  "auth",
];
/** What stands before a secret. */
const BEFORE: Readonly<Record<string, string>> = {
  nothing: "",
  "a space": "a ",
  "a line break": "a\n",
  "an escaped line break": "a\\n",
  "a twice escaped line break": "a\\\\n",
  "a tab": "a\t",
  "an escaped tab": "a\\t",
  "a quote": 'a "',
  "an escaped quote": 'a \\"',
  "a single quote": "a '",
  "an escaped character": "a\\u003d",
  "an encoded space": "a%20",
  "a colour": "\u001b[31m",
  "an escaped colour": "\\u001b[1;31m",
  "a slash": "https://a.test/",
  "an assignment": "a=",
};
const SECRET = "correct-horse-7";

describe.each(Object.entries(BEFORE))("A20 SEC-52 behind %s", (_, before) => {
  test.each(Object.entries(TOKENS))("a token of %s is neither logged nor shown", (_name, token) => {
    expect(createRedactor().redact(`${before}${token}\\n`)).toBe(`${before}[redacted]\\n`);
    const masked = new Masker().text(`${before}${token} b`);
    expect(masked).toMatch(/ b$/);
    for (const run of token.match(/\w{8,}/g) ?? []) expect(masked).not.toContain(run);
    expect(masked.startsWith(before)).toBe(true);
  });

  test.each(NAMES)("what %s names is neither logged nor shown", (name) => {
    const forms = [`${name}=${SECRET}`, `${name}: ${SECRET}`, `${name} = '${SECRET}'`, `"${name}":"${SECRET}"`];
    for (const form of [...forms, JSON.stringify(forms[3]), JSON.stringify(JSON.stringify(forms[3]))]) {
      expect(createRedactor().redact(before + form)).toBe((before + form).replace(SECRET, "[redacted]"));
      expect(new Masker().text(`${before}${form}`)).not.toContain(SECRET);
    }
  });

  test("A20 so is what a scheme of authorization precedes", () => {
    for (const scheme of ["Bearer ", "bearer  ", "Bearer%20", "Authorization: Basic ", '"authorization":"Token ']) {
      expect(createRedactor().redact(`${before}${scheme}${SECRET}"`)).toBe(`${before}${scheme}[redacted]"`);
    }
  });
});

describe("A20 the end of a secret", () => {
  test.each([
    ['{"password":"a \\"quoted\\" word, and more"}', '{"password":"[]\\"[]\\"[]"}'],
    ['{"a":"{\\"password\\":\\"one \\\\\\"two\\\\\\" three\\",\\"b\\":1}"}', '"b\\":1}"}'],
    ["password='with space & signs'; next", "password='[]'; next"],
    ["Cookie: a=secret-1; b=secret-2\nnext", "Cookie: []; []\nnext"],
    ["https://me:p4ss@word.test/x", "https://me:[]@word.test/x"],
    [`see ${TOKENS["GitHub, personal"]}.`, "see []."],
    ["token=abcdef0123&x=1", "token=[]&x=1"],
    ["-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADAN\\nBgkq/+=\\n-----END", "KEY-----\\n[]\\n[]\\n-----END"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkq, cut", "KEY-----[]"],
  ])("of %s", (text, expected) => {
    const clean = replaceSecrets(text, () => "[]");
    expect(clean.endsWith(expected) ? expected : clean).toBe(expected);
  });

  test.each([
    "npm_config_registry=https://registry.test/",
    "const token = getToken(request);",
    "apiKey: process.env.OPENAI_API_KEY,",
    "PWD=/home/ada/project",
    "key-value-store-of-many-things and secret_manager_service_account",
    '{"max_tokens":100000000,"token":12345678}',
    "a skill, a risk-free-investment-of-time",
  ])("leaves %s", (text) => {
    expect(replaceSecrets(text, () => "[]")).toBe(text);
  });

  test("is in order, without quotes and backslashes, for any text", () => {
    const part = fc.constantFrom(
      ...Object.values(BEFORE),
      ...NAMES,
      ...Object.values(TOKENS),
      ..."\\\"'`=:@%~;[ \n/un.",
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        const text = parts.join("");
        let last = 0;
        for (const { start, end, type } of findSecrets(text)) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThan(start);
          if (type !== "person") expect(text.slice(start, end)).not.toMatch(/["\\]/);
          last = end;
        }
        const json = JSON.stringify({ text, [parts[0] ?? ""]: text });
        expect(() => JSON.parse(createRedactor().redact(json))).not.toThrow();
        expect(new Masker().text(json)).toHaveLength(json.length);
      }),
    );
  });
});

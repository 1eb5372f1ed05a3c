import { createInterface } from "node:readline/promises";
import type { Elicit, Elicitation, ElicitationAnswer } from "../../core/hub/tool-hub.ts";
import { printable } from "../../core/printable.ts";
import type { JsonObject } from "../../core/turn.ts";
import { openBrowser } from "../open-browser.ts";

/** Asks the user on the terminal for what a tool needs, field by field. Ctrl-D cancels. */
export const askOnTerminal: Elicit = async (question, signal) => {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<undefined>((resolve) => lines.once("close", () => resolve(undefined)));
  const ask = (text: string) => Promise.race([lines.question(printable(text), { signal }), closed]);
  try {
    const tell = (text: string) => process.stderr.write(printable(text));
    const { url } = question;
    return await (url === undefined
      ? fill(question, ask, tell)
      : showPage({ ...question, url }, ask, tell, openBrowser));
  } finally {
    lines.close();
  }
};

type Ask = (text: string) => Promise<string | undefined>;
type Value = string | number | boolean | string[];

/**
 * Shows the full address of a page that the user is to open, because only the address tells whose it is. Does not open
 * it unasked.
 */
export async function showPage(
  { server, message, url }: Elicitation & { readonly url: string },
  ask: Ask,
  tell: (text: string) => void,
  open: (url: string) => boolean,
): Promise<ElicitationAnswer> {
  tell(`\n${server} asks you to open a page at ${new URL(url).host}: ${message}\n  ${url}\n`);
  const consent = (await ask("Open it? [y/N] "))?.trim().toLowerCase();
  if (consent === undefined) return { action: "cancel" };
  if (!/^y(?:es)?$/.test(consent)) return { action: "decline" };
  if (!open(url)) tell("Open this URL in a browser.\n");
  return { action: "accept", content: {} };
}

/** Asks for each field of a form. An empty answer means the default, or omits the field. */
export async function fill(
  { server, message, schema }: Elicitation,
  ask: Ask,
  tell: (text: string) => void,
): Promise<ElicitationAnswer> {
  tell(`\n${server} asks: ${message}\n`);
  const consent = (await ask("Answer it? [y/N] "))?.trim().toLowerCase();
  if (consent === undefined) return { action: "cancel" };
  if (!/^y(?:es)?$/.test(consent)) return { action: "decline" };
  const { properties = {}, required = [] } = schema as { properties?: JsonObject; required?: readonly string[] };
  const content: Record<string, Value> = {};
  for (const [name, property] of Object.entries(properties)) {
    const isRequired = required.includes(name);
    for (;;) {
      const text = await ask(`  ${labelOf(name, property as JsonObject, isRequired)}: `);
      if (text === undefined) return { action: "cancel" };
      if (text.trim() === "" && (!isRequired || "default" in (property as JsonObject))) break;
      const value = read(text.trim(), property as JsonObject);
      if (value !== undefined && text.trim() !== "") {
        content[name] = value;
        break;
      }
      tell("  That value is not valid.\n");
    }
  }
  return { action: "accept", content };
}

function labelOf(name: string, property: JsonObject, isRequired: boolean): string {
  const { title, description, default: usual } = property;
  const notes = [
    typeof description === "string" ? description : undefined,
    optionsOf(property)?.join(" | "),
    usual === undefined ? (isRequired ? "required" : undefined) : `default ${JSON.stringify(usual)}`,
  ].filter((note) => note !== undefined);
  return `${typeof title === "string" ? title : name}${notes.length > 0 ? ` (${notes.join("; ")})` : ""}`;
}

/** Returns the options of a field, in the notations of the protocol's versions. */
function optionsOf(property: JsonObject): readonly string[] | undefined {
  const source = (property["items"] ?? property) as JsonObject;
  const titled = source["oneOf"] ?? source["anyOf"];
  if (Array.isArray(titled)) return titled.map((option) => String((option as JsonObject)["const"]));
  return Array.isArray(source["enum"]) ? source["enum"].map(String) : undefined;
}

function read(text: string, property: JsonObject): Value | undefined {
  const options = optionsOf(property);
  const isOption = (value: string) => !options || options.includes(value);
  switch (property["type"]) {
    case "boolean":
      if (/^(?:y|yes|true)$/i.test(text)) return true;
      return /^(?:n|no|false)$/i.test(text) ? false : undefined;
    case "number":
    case "integer": {
      const value = Number(text);
      return Number.isNaN(value) || (property["type"] === "integer" && !Number.isInteger(value)) ? undefined : value;
    }
    case "array": {
      const values = text.split(",").map((item) => item.trim());
      return values.every(isOption) ? values : undefined;
    }
    default:
      return isOption(text) ? text : undefined;
  }
}

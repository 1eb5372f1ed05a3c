import { randomInt } from "node:crypto";

/** A tool that is safe to run: it reads nothing and changes nothing. */
interface DemoTool {
  readonly description: string;
  readonly properties: Readonly<Record<string, { readonly type: string; readonly description: string }>>;
  run(args: Readonly<Record<string, unknown>>): string;
}

const TOOLS: Readonly<Record<string, DemoTool>> = {
  current_time: {
    description: "Tells the current date and time.",
    properties: {
      timezone: { type: "string", description: "such as Europe/Zurich; without it, that of this machine" },
    },
    run: ({ timezone }) =>
      new Intl.DateTimeFormat("en-GB", {
        dateStyle: "full",
        timeStyle: "long",
        ...(typeof timezone === "string" && { timeZone: timezone }),
      }).format(),
  },
  roll_dice: {
    description: "Rolls dice and gives what each shows.",
    properties: {
      count: { type: "integer", description: "how many dice, 1 to 100; without it, one" },
      sides: { type: "integer", description: "how many sides each has, 2 to 1000; without it, six" },
    },
    run: ({ count = 1, sides = 6 }) => {
      const rolls = Array.from({ length: within("count", count, 1, 100) }, () => {
        return 1 + randomInt(within("sides", sides, 2, 1000));
      });
      return rolls.join(" ");
    },
  },
};

function within(name: string, value: unknown, min: number, max: number): number {
  if (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) return Number(value);
  throw new RangeError(`${name} must be a whole number from ${min} to ${max}`);
}

export const DEMO_TOOLS: readonly object[] = Object.entries(TOOLS).map(([name, { description, properties }]) => ({
  type: "function",
  function: { name, description, parameters: { type: "object", properties } },
}));

/** Returns the tool's result. A wrong call returns an error text, so that the model can correct it. */
export function runDemoTool(name: string, args: string): string {
  const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
  if (!tool) return `error: there is no tool ${name}; there are ${Object.keys(TOOLS).join(", ")}`;
  try {
    return tool.run(JSON.parse(args || "{}"));
  } catch (error) {
    return `error: ${error instanceof Error ? error.message : error}`;
  }
}

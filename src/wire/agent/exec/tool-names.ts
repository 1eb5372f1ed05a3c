import { spellToolName } from "../../../core/spell-tool-name.ts";

/** The provider of the client's tools. */
export const PROVIDER = "excursor";

export const qualifiedToolName = (name: string): string => `${PROVIDER}-${spellToolName(name)}`;

import type { Packing } from "../packing.ts";
import type { RedisLink } from "../redis-link.ts";
import type { WriteBehind } from "../write-behind.ts";
import type { RoomLimits } from "./value-room.ts";

/** What every store in Redis needs. */
export interface StoreParts {
  readonly link: RedisLink;
  readonly writes: WriteBehind;
  readonly packing: Packing;
  /** Keeps the backends apart: ids and checkpoints of one mean nothing to another. */
  readonly scope: string;
  readonly limits?: Partial<RoomLimits>;
}

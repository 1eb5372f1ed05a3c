import type { FrameWriter as WireFrameWriter } from "../wire/connect/frame-writer.ts";
import type { SimExchange } from "./sim-exchange.ts";

/** A frame writer whose stream can also go wrong on purpose. */
export type FrameWriter = WireFrameWriter<SimExchange>;

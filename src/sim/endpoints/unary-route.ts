import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Awaitable } from "../../core/awaitable.ts";
import { type Account, authenticate } from "../accounts.ts";
import type { Backend, Routes } from "../backend.ts";
import { serveUnary } from "../rpc.ts";

export interface Caller {
  readonly account: Account;
  readonly backend: Backend;
}

/** Returns the route of a unary method that requires a valid token. */
export function unaryRoute<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  answer: (input: MessageShape<I>, caller: Caller) => Awaitable<MessageInitShape<O>>,
): Routes {
  return {
    [unaryPath(method)]: (exchange, backend) => {
      const account = authenticate(exchange);
      return serveUnary(exchange, method, (input) => answer(input, { account, backend }));
    },
  };
}

const unaryPath = (method: DescMethodUnary): string => `POST /${method.parent.typeName}/${method.name}`;

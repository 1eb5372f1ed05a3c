import { connect, constants } from "node:http2";
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { SimOptions } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";

export interface Endpoints extends AsyncDisposable {
  readonly url: string;
}

export async function startEndpoints(options: Partial<SimOptions> = {}): Promise<Endpoints> {
  const sim = await startSim(options);
  return { url: sim.url, [Symbol.asyncDispose]: () => sim.close() };
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const pathOf = (method: DescMethodUnary) => `/${method.parent.typeName}/${method.name}`;

export function post(
  url: string,
  body: string | Uint8Array<ArrayBuffer> | null,
  headers: Record<string, string>,
): Promise<Response> {
  return fetch(url, { method: "POST", headers, body });
}

export const postJson = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  post(url, JSON.stringify(body), { "content-type": "application/json", ...headers });

/** A unary call in protobuf over HTTP/1.1. */
export async function call<I extends DescMessage, O extends DescMessage>(
  { url }: Pick<Endpoints, "url">,
  method: DescMethodUnary<I, O>,
  input: MessageInitShape<I>,
  token = "tester",
): Promise<MessageShape<O>> {
  const body = new Uint8Array(toBinary(method.input, create(method.input, input)));
  const response = await post(url + pathOf(method), body, { "content-type": "application/proto", ...bearer(token) });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return fromBinary(method.output, new Uint8Array(await response.arrayBuffer()));
}

/** The same call as Connect JSON. */
export async function callJson({ url }: Endpoints, method: DescMethodUnary, input: unknown): Promise<unknown> {
  const response = await postJson(url + pathOf(method), input, bearer("tester"));
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

/** One request over HTTP/2 without TLS. */
export function requestH2(
  url: string,
  path: string,
  headers: Record<string, string>,
  body: Uint8Array,
): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const session = connect(url);
    session.on("error", reject);
    const stream = session.request({ [constants.HTTP2_HEADER_METHOD]: "POST", ":path": path, ...headers });
    const chunks: Buffer[] = [];
    let status = 0;
    stream.on("response", (response) => {
      status = Number(response[":status"]);
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("end", () => {
      session.close();
      resolve({ status, body: Buffer.concat(chunks) });
    });
    stream.end(body);
  });
}

/** A JWT as a test needs it; the backend checks no signature. */
export function jwt(claims: Readonly<Record<string, unknown>>): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${encode({ alg: "none" })}.${encode(claims)}.x`;
}

export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
}

export const secondsFromNow = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * The floor of a forwarded follow-up: the smallest program that passes HTTP requests on to one gateway. It looks at no byte of
 * them, encrypts nothing, and has no gate and no errors.
 */
const [port = ""] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });

const server = createServer((asked, answer) => {
  const { method, url: path, headers } = asked;
  const target = { host: "127.0.0.1", port, agent, method, path, headers: { ...headers, host: `127.0.0.1:${port}` } };
  const passed = request(target, (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(answer);
  });
  asked.pipe(passed);
});

server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
});

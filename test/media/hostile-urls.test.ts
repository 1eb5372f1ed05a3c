import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createImageLoader } from "../../src/media/image-loader.ts";

/** Names that point where nobody may go. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  localhost: ["::1", "127.0.0.1"],
  "localhost.": ["127.0.0.1"],
  "app.localhost": ["127.0.0.1"],
  "loopback.test": ["127.0.0.1"],
  "zero.test": ["0.0.0.0"],
  "private.test": ["192.168.1.1"],
  "metadata.google.internal": ["169.254.169.254"],
  "mixed.test": ["93.184.216.34", "127.0.0.1"],
  "mixed6.test": ["2606:2800:220:1::1", "::1"],
  "mapped.test": ["::ffff:127.0.0.1"],
  "nat64.test": ["64:ff9b::7f00:1"],
  "garbage.test": ["not an address"],
  "none.test": [],
};

/** PORT is the canary's. What can be said by the URL's text is refused by it, the rest looks like any failure. */
const CORPUS: readonly (readonly [url: string, code: string])[] = [
  // Not https.
  ["http://127.0.0.1:PORT/", "image_url_forbidden"],
  ["http://example.com/a.png", "image_url_forbidden"],
  ["ftp://127.0.0.1:PORT/", "image_url_forbidden"],
  ["file:///etc/passwd", "image_url_forbidden"],
  ["gopher://127.0.0.1:PORT/_GET", "image_url_forbidden"],
  ["blob:https://127.0.0.1:PORT/x", "image_url_forbidden"],
  ["javascript:fetch('https://127.0.0.1')", "image_url_forbidden"],
  ["ws://127.0.0.1:PORT/", "image_url_forbidden"],
  // Not a URL.
  ["//127.0.0.1:PORT/", "image_url_invalid"],
  ["/etc/passwd", "image_url_invalid"],
  ["https://", "image_url_invalid"],
  ["https://[::1", "image_url_invalid"],
  ["https://[fe80::1%25lo]:PORT/", "image_url_invalid"],
  ["https://127.0.0.1:99999/", "image_url_invalid"],
  ["https://256.0.0.1:PORT/", "image_url_invalid"],
  ["https://exa mple.com/", "image_url_invalid"],
  [`https://127.0.0.1:PORT/${"a".repeat(9000)}`, "image_url_invalid"],
  // Credentials, and what others take for them.
  ["https://user:secret@example.com/", "image_url_forbidden"],
  ["https://user@127.0.0.1:PORT/", "image_url_forbidden"],
  ["https://example.com@127.0.0.1:PORT/", "image_url_forbidden"],
  ["https://:pw@example.com/", "image_url_forbidden"],
  ["https://127.0.0.1:PORT\\@example.com/", "image_url_forbidden"],
  ["https://127.0.0.1:PORT#@example.com/", "image_url_forbidden"],
  // Ports.
  ["https://example.com:22/", "image_url_forbidden"],
  ["https://example.com:80/", "image_url_forbidden"],
  ["https://example.com:8443/", "image_url_forbidden"],
  ["https://example.com:6379/", "image_url_forbidden"],
  // IPv4, in every spelling that a parser folds.
  ["https://127.0.0.1:PORT/", "image_url_forbidden"],
  ["https://127.1:PORT/", "image_url_forbidden"],
  ["https://127.0.1:PORT/", "image_url_forbidden"],
  ["https://2130706433:PORT/", "image_url_forbidden"],
  ["https://0x7f000001:PORT/", "image_url_forbidden"],
  ["https://0x7f.1:PORT/", "image_url_forbidden"],
  ["https://0177.0.0.1:PORT/", "image_url_forbidden"],
  ["https://017700000001:PORT/", "image_url_forbidden"],
  ["https://１２７.０.０.１:PORT/", "image_url_forbidden"],
  ["https://①②⑦.⓪.⓪.①:PORT/", "image_url_forbidden"],
  ["https://127。0。0。1:PORT/", "image_url_forbidden"],
  ["https://%31%32%37.0.0.1:PORT/", "image_url_forbidden"],
  ["https://127.0.0.1.:PORT/", "image_url_forbidden"],
  ["https://0:PORT/", "image_url_forbidden"],
  ["https://0.0.0.0:PORT/", "image_url_forbidden"],
  ["https://127.255.255.254:PORT/", "image_url_forbidden"],
  ["https:127.0.0.1:PORT/", "image_url_forbidden"],
  ["https:\\\\127.0.0.1:PORT\\", "image_url_forbidden"],
  ["\thttps://127.0.0.1:PORT/\n", "image_url_forbidden"],
  ["ht\ntps://127.0.0.1:PORT/", "image_url_forbidden"],
  // The rest of IPv4 that is nobody's public host.
  ["https://10.0.0.1/", "image_url_forbidden"],
  ["https://100.64.0.1/", "image_url_forbidden"],
  ["https://169.254.169.254/latest/meta-data/", "image_url_forbidden"],
  ["https://172.31.255.255/", "image_url_forbidden"],
  ["https://192.168.0.1/", "image_url_forbidden"],
  ["https://192.0.0.170/", "image_url_forbidden"],
  ["https://198.18.0.1/", "image_url_forbidden"],
  ["https://224.0.0.1/", "image_url_forbidden"],
  ["https://255.255.255.255/", "image_url_forbidden"],
  // IPv6, with and without an IPv4 address inside.
  ["https://[::1]:PORT/", "image_url_forbidden"],
  ["https://[::]:PORT/", "image_url_forbidden"],
  ["https://[0:0:0:0:0:0:0:1]:PORT/", "image_url_forbidden"],
  ["https://[::127.0.0.1]:PORT/", "image_url_forbidden"],
  ["https://[::ffff:127.0.0.1]:PORT/", "image_url_forbidden"],
  ["https://[::ffff:7f00:1]:PORT/", "image_url_forbidden"],
  ["https://[::ffff:0:127.0.0.1]:PORT/", "image_url_forbidden"],
  ["https://[64:ff9b::127.0.0.1]:PORT/", "image_url_forbidden"],
  ["https://[64:ff9b:1::7f00:1]:PORT/", "image_url_forbidden"],
  ["https://[2002:7f00:1::]:PORT/", "image_url_forbidden"],
  ["https://[2001:0:7f00:1::]:PORT/", "image_url_forbidden"],
  ["https://[2001:db8::1]/", "image_url_forbidden"],
  ["https://[fe80::1]/", "image_url_forbidden"],
  ["https://[fec0::1]/", "image_url_forbidden"],
  ["https://[fd00::1]/", "image_url_forbidden"],
  ["https://[ff02::1]/", "image_url_forbidden"],
  ["https://[100::1]/", "image_url_forbidden"],
  // Names.
  ...Object.keys(NAMES).map((name) => [`https://${name}:PORT/`, "image_fetch_failed"] as const),
  ["https://LOCALHOST:PORT/", "image_fetch_failed"],
  ["https://loc%61lhost:PORT/", "image_fetch_failed"],
  ["https://ｌｏｃａｌｈｏｓｔ:PORT/", "image_fetch_failed"],
  ["https://unknown.test:PORT/", "image_fetch_failed"],
];

describe(`${CORPUS.length} hostile URLs`, () => {
  let connections = 0;
  const canary = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  let port = 0;

  beforeAll(async () => {
    canary.listen(0, "127.0.0.1");
    await once(canary, "listening");
    port = (canary.address() as AddressInfo).port;
  });
  beforeEach(() => {
    connections = 0;
  });
  afterAll(() => void canary.close());

  test.each(CORPUS)("%.60s: %s", async (url, code) => {
    // The canary's port is allowed and nothing but the checks is in the way.
    const loader = createImageLoader({
      mode: "fetch",
      ports: [443, port],
      lookup: async (host) => NAMES[host] ?? Promise.reject(new Error("ENOTFOUND")),
    });
    const error = await loader.load(url.replace("PORT", String(port))).catch((thrown) => thrown);
    expect(error).toMatchObject({ kind: "invalid-request", code });
    expect(error.message).not.toMatch(/secret|ENOTFOUND|169\.254|not public/);
    expect(connections).toBe(0);
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readDataUrl } from "../../src/media/data-url.ts";
import { createImageLoader } from "../../src/media/image-loader.ts";
import { dataUrl, GIF, JPEG, PNG, WEBP } from "./support.ts";

const loader = createImageLoader({ mode: "data", maxBytes: 100 });

describe("the kind of an image", () => {
  test.each([
    ["image/png", PNG],
    ["image/jpeg", JPEG],
    ["image/gif", GIF],
    ["image/webp", WEBP],
  ])("%s is told by its bytes, whatever was declared", async (mediaType, data) => {
    for (const declared of ["image/png", "text/plain", "image/svg+xml;charset=utf-8", ""]) {
      expect(await loader.load(dataUrl(data, declared))).toEqual({ type: "image", mediaType, data });
    }
  });

  test.each([
    ["svg", Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>")],
    ["html", Buffer.from("<html>")],
    ["bmp", Buffer.from("BM                    ")],
    ["pdf", Buffer.from("%PDF-1.7")],
    ["avif", Buffer.from("\0\0\0\x1cftypavif")],
    ["wave", Buffer.from("RIFF\0\0\0\0WAVEfmt ")],
    ["half a png", PNG.subarray(0, 12)],
    ["nothing", Buffer.alloc(0)],
  ])("%s is none", async (_, data) => {
    await expect(loader.load(dataUrl(data))).rejects.toMatchObject({ kind: "invalid-request", code: "image_invalid" });
  });
});

describe("a data URL", () => {
  test.each([
    ["data:image/png,hello", "image_url_invalid"],
    ["data:image/png;base64", "image_url_invalid"],
    ["data:;base64,!!!!", "image_url_invalid"],
    ["data:;base64,AAAA=A==", "image_url_invalid"],
    ["data:;base64,A", "image_url_invalid"],
    [`data:${"x".repeat(300)};base64,AAAA`, "image_url_invalid"],
    [dataUrl(Buffer.alloc(101)), "image_too_large"],
    [`data:;base64,${" ".repeat(10_000)}`, "image_too_large"],
    ["https://example.com/a.png", "image_url_forbidden"],
    ["", "image_url_forbidden"],
  ])("%.40s is refused as %s", async (url, code) => {
    await expect(loader.load(url)).rejects.toMatchObject({ kind: "invalid-request", code });
  });

  test("may be as large as the limit, in wrapped lines, unpadded, in any case", () => {
    const bytes = Buffer.alloc(100, 7);
    const lines = bytes.toString("base64").replace(/.{76}/g, "$&\r\n");
    expect(readDataUrl(`DATA:image/png;BASE64,${lines}`, 100)).toEqual(bytes);
    expect(readDataUrl(`data:;base64,${bytes.toString("base64").replace(/=/g, "")}`, 100)).toEqual(bytes);
  });

  test("gives back what was encoded, and of anything else bytes or a refusal", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        return readDataUrl(dataUrl(Buffer.from(bytes)), 300).equals(bytes);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        try {
          readDataUrl(`data:;base64,${text}`, 50);
        } catch (error) {
          expect(error).toMatchObject({ kind: "invalid-request" });
        }
      }),
    );
  });
});

/** The smallest of each kind that a sniffer needs. */
export const PNG = Buffer.from("89504e470d0a1a0a0000000d494844520000000100000001", "hex");
export const JPEG = Buffer.from("ffd8ffe000104a46494600010100000100010000ffd9", "hex");
export const GIF = Buffer.from("474946383961010001000000003b", "hex");
export const WEBP = Buffer.concat([Buffer.from("RIFF"), Buffer.alloc(4), Buffer.from("WEBPVP8L"), Buffer.alloc(8)]);

export const dataUrl = (bytes: Buffer, type = "image/png"): string => `data:${type};base64,${bytes.toString("base64")}`;

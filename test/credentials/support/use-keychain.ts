import { createKeychain } from "../../../src/credentials/keychain.ts";

/** A process that uses the keychain of the session it runs in, and prints what it found there. */
const keychain = createKeychain();
const name = `test ${process.pid}`;
const found = [await keychain.read(name)];
await keychain.write(name, "some text");
found.push(await keychain.read(name));
await keychain.remove(name);
found.push(await keychain.read(name));
process.stdout.write(`${JSON.stringify(found.map(String))}\n`);

import { createKeychain } from "../../credentials/keychain.ts";
import { createServerLogins, type ServerLogins } from "../../credentials/server-logins.ts";
import type { Config } from "../load-config.ts";

export const openServerLogins = (
  home: string,
  { keychain }: Pick<Config, "keychain">,
  onNotice: (text: string) => void,
): ServerLogins => createServerLogins({ home, keychain: keychain === "off" ? undefined : createKeychain(), onNotice });

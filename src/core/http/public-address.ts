import { BlockList, isIPv4, isIPv6 } from "node:net";

/** True if an IP address is on the public internet: not local, private, reserved or unassigned. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !SPECIAL.check(address, "ipv4");
  // Only global unicast is in use. Addresses that embed an IPv4 address (`::/96`, the mapped `::ffff:0:0/96`, NAT64) are
  // outside of it.
  return isIPv6(address) && GLOBAL_UNICAST.check(address, "ipv6") && !SPECIAL.check(address, "ipv6");
}

const GLOBAL_UNICAST = blockList([["2000::", 3]]);

/** IANA's special-purpose registries: IPv4, and the parts of IPv6 global unicast. */
const SPECIAL = blockList([
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
  // Protocol assignments, Teredo among them.
  ["2001::", 23],
  ["2001:db8::", 32],
  // 6to4.
  ["2002::", 16],
  ["2620:4f:8000::", 48],
  ["3fff::", 20],
]);

/** Makes a list of subnets. It also matches IPv4 addresses that are written as mapped IPv6 addresses. */
export function blockList(subnets: readonly (readonly [address: string, prefix: number])[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of subnets) list.addSubnet(address, prefix, isIPv4(address) ? "ipv4" : "ipv6");
  return list;
}

package ir

import "net/netip"

// InsideAddresses are never outside: the proxy itself, its link, many receivers, and where clouds hand out the credentials of a node.
// Private networks are not among them, for a company's servers have such addresses too; an operator adds those of the cluster.
// IPv6 has other ways to write an IPv4 address: ::a.b.c.d and ::ffff:a.b.c.d are denied altogether, and behind NAT64 what is denied
// without.
var InsideAddresses = prefixes(
	"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
	"100.100.100.200/32", // Alibaba
	"168.63.129.16/32",   // Azure
	"192.0.0.192/32",     // Oracle
	"::/96", "::ffff:0:0/96", "fe80::/10", "ff00::/8",
	"64:ff9b::7f00:0/104", "64:ff9b::a9fe:0/112", // 127/8 and 169.254/16 behind NAT64
	"64:ff9b::6464:64c8/128", "64:ff9b::a83f:8110/128", "64:ff9b::c000:c0/128", // Alibaba, Azure and Oracle behind NAT64
	"fd00:ec2::/32", // Amazon
	"fd20:ce::/32",  // Google
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

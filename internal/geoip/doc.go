// Package geoip knows databases of addresses in the format of MaxMind: it writes small ones, checks that a proxy can open one, and lays
// those of a fleet where its proxies look for them. Enter at [Install].
// It must not know what the databases are asked for.
package geoip

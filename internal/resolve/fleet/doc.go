// Package fleet resolves the proxies of a Gateway: how they run, where they run, which Gateways share them, and their state. Enter at
// [New], [Configure] and [State]; [Shared] and [AllocateSockets] are for proxies that Gateways share.
// It must not know listeners or routes.
package fleet

// Package status converts outcomes to conditions, and writes those that differ from what is stored. Enter at [Class], [Gateway] and
// [Route] for the pure part, and at [NewWriter] for the leader's writer. It must not know how an outcome was reached, the tables of the
// store, or anything about proxies.
package status

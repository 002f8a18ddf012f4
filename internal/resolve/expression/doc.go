// Package expression says which regular expressions proxies accept, and what they cost there.
// Enter at [Budget.Take]. It must not know what an expression is compared with.
package expression

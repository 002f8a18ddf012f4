// Package route knows how a proxy picks a rule for a request and what it does then.
// Enter at [VirtualHost] for the rules of one hostname and at [Table] for the table that holds them.
// It must not know how virtual hosts travel to a proxy, nor what Gateway API object a rule comes from.
package route

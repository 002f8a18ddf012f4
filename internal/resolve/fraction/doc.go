// Package fraction reads a Fraction of the Gateway API. Enter at [Parse].
// It must not know which setting the fraction is for.
package fraction

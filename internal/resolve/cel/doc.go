// Package cel reads expressions of the Common Expression Language as Envoy evaluates them. Enter at [Parse]. It must not know policies.
package cel

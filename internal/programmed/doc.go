// Package programmed adds to the outcome of each object whether its proxies have acknowledged it: the condition Programmed of routes,
// Gateways and listeners, and NACKs of policies. Enter at [New]. It stands between the pipeline, which sets outcomes, and the writer of
// conditions, and reads acknowledgements from [convergence.Tracker]. It must not know how a configuration looks, nor how conditions are
// written.
package programmed

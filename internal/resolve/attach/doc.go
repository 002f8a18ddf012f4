// Package attach says what policies of any kind attach to, which of several decides about a setting, and what is reported about each
// policy. Enter at [Kind.Attach] for targets, at [Kind.Merge] for the effective policy with the origin of each setting, and at
// [Kind.Status]. It must not know what a setting means, or how a policy is stored or written.
package attach

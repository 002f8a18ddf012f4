// Package outcome says what became of each object a user wrote: accepted or not, with a reason and a message.
// Enter at [Class], [Gateway] and [Route]; a stage fills them in, and status turns them into conditions.
// It must not know Kubernetes types, when a condition last changed, or who writes it.
package outcome

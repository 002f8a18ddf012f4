// Package values reads the values of policies' fields, and collects what is wrong with them. Enter at [Reader]. It must not know which
// policy a field belongs to.
package values

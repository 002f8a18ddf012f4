// Package command checks texts in which users write commands of Envoy, such as `%REQ(x-tenant)%`: formats of access logs, values of
// headers, bodies of responses. Enter at [Check] for a format as Envoy reads it, and at [Format] for a text that may have commands. It
// must not know where a text is used.
package command

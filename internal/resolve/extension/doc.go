// Package extension resolves Extensions: servers that process requests, and Lua scripts. Enter at [Resolve] for a rule and at [OfListener]
// for a listener, which return values of the IR or say what is wrong. It must not know the routes that use an Extension, and never runs a
// script.
package extension

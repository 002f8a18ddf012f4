// Package inherit merges policies whose settings routes, rules and backends inherit from what is above them, in layers: what is known of a
// listener, of a route and of a backend is merged apart, so that a change of one touches no other. Enter at [Policies.Layer] for the
// settings of one kind at some levels, at [Layer.Requests] for those of a rule below a layer, and at [Destination] for those of a backend.
// It must not know what a setting means.
package inherit

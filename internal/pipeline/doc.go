// Package pipeline is the loop: it takes changes in, updates the tables of every stage, and publishes the differences. Enter at [New];
// graph.go lists the stages in order, lane.go is the loop, publish.go the order of publication. It must not know what a stage means, only
// which stage reads which tables. What proxies reject is the concern of quarantine, copies for shared fleets that of sharedfleet.
package pipeline

// Package pipeline is the one loop: it takes changes in, brings the tables of every stage up to date, and hands the differences out.
// Enter at [New]; graph.go lists the stages in order, lane.go is the loop, and outputs.go says where results go.
// It must not know what a stage means, only what comes before what.
package pipeline

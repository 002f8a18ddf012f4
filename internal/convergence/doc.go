// Package convergence tracks which state of its group each proxy has acknowledged, on this replica and on others, and which objects
// wait for an acknowledgement of every ready proxy. Enter at [New]. The pipeline calls [Tracker.Reach], proxies are reported by the
// methods of an xds.Observer, and [Tracker.Progress] returns how far the proxies of an object are. It must not know outcomes,
// conditions or how a configuration looks.
package convergence

// Package proof knows which objects are live: those whose present meaning every ready proxy of their Gateway has acknowledged. It stands between the
// pipeline, which says what became of each object, and whoever writes conditions, and adds to each outcome what the proxies have proved of it.
// Enter at [New]; the pipeline calls [Keeper.Reach] and sets outcomes, proxies are reported by the methods of an xds.Observer.
// It must not know what a configuration looks like, nor how conditions are written.
package proof

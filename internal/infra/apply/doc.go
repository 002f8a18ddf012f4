// Package apply applies the objects of every Gateway's proxy fleet server-side, and restores what others change.
// Enter at [New]; the pipeline says what is wanted with [Applier.Set] and [Applier.Delete], and [Applier.Start] does it while this
// replica leads. It must not know what the objects hold, which is render's to say, nor what becomes of them, which is status's.
package apply

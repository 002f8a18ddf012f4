// Package costtest compares what operations cost in tests.
// Enter at [ExpectSame].
// It must not know what is measured, and nothing but tests may import it.
package costtest

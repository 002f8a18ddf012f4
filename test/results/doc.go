// Command results reports how a run of .ci/run ended: the time of each stage, each test that failed with its reason and the command that
// runs it again, and the sum of all tests. It reads a directory that .ci/run filled: the file "stages" and, for each stage, a directory
// with its log, the JSON lines of its tests and a list of its parts that failed. It runs no test itself and depends on the standard
// library alone.
package main

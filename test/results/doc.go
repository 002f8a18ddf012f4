// Command results reports how a run of hack/gate-stages.sh ended: the time of each stage, each test that failed with its reason and the
// command that runs it again, and the sum of all tests. It reads a directory that the script filled: the file "stages" and, for each stage,
// a directory with its log, the JSON lines of its tests and a list of its parts that failed. With -nightly it also writes the report of
// hack/nightly.sh. It runs no test itself and depends on the standard library alone.
package main

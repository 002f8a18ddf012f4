package figures

import "fmt"

// Room that counts have: something unrelated may happen meanwhile, and writes to a status are put together as time allows.
const (
	roomPerChange = 0.25
	roomOfBytes   = 1.25
)

// perStage is how many values of one stage a change may touch: a route, what it was before, and the Gateway it is counted at.
const perStage = 3

// mayCause are the stages that an endpoint may make compute, which are those of the endpoint lane, and the types of resources it may make
// sent.
var mayCause = map[string]bool{"endpoints": true, "served endpoints": true}

// Excess says what one change costs beyond what it touches, from what it costs among few routes and among many.
func Excess(kind string, few, many Cost) []string {
	var complaints []string
	complain := func(format string, arguments ...any) {
		complaints = append(complaints, fmt.Sprintf(kind+": "+format, arguments...))
	}
	for _, counts := range []struct {
		what      string
		few, many map[string]float64
	}{
		{"values computed by stage", few.Computed, many.Computed},
		{"resources sent of type", few.Sent, many.Sent},
		{"status writes of", few.StatusWrites, many.StatusWrites},
	} {
		for _, name := range Sorted(counts.many) {
			n := counts.many[name]
			if n > counts.few[name]+roomPerChange {
				complain("%s %s: %.2f among many routes, %.2f among few: it grows with their number", counts.what, name, n, counts.few[name])
			}
			if n > perStage {
				complain("%s %s: %.2f, want at most %d", counts.what, name, n, perStage)
			}
			if kind == changeEndpoint && !mayCause[name] {
				complain("%s %s: %.2f, want none", counts.what, name, n)
			}
		}
	}
	if many.Bytes > few.Bytes*roomOfBytes {
		complain("bytes sent: %.0f among many routes, %.0f among few: they grow with their number", many.Bytes, few.Bytes)
	}
	return complaints
}

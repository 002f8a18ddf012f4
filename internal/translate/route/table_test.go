package route_test

import (
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/prototest"
	"github.com/gatewright/gatewright/internal/translate/route"
)

// A table is the frame of virtual hosts however they travel: in scopes, in one response, or in a file.
func TestTableCountsHops(t *testing.T) {
	t.Parallel()
	table := route.Table(ir.ParseTableID("infra/edge/80"), false)
	prototest.Valid(t, table)
	added := table.GetRequestHeadersToAdd()
	if len(added) != 1 || added[0].GetHeader().GetKey() != filter.HopsHeader {
		t.Errorf("it adds %v", added)
	}
	for name := range table.GetTypedPerFilterConfig() {
		if name == filter.Loops {
			t.Error("loop detection is off")
		}
	}
}

func TestCopiesCountMore(t *testing.T) {
	t.Parallel()
	found := false
	for _, m := range only(t, copied(nil)).GetRoute().GetRequestMirrorPolicies()[0].GetRequestHeadersMutations() {
		found = found || m.GetAppend().GetHeader().GetValue() == filter.CountCopy().GetHeader().GetValue()
	}
	if !found {
		t.Error("each copy may be copied ten times")
	}
}

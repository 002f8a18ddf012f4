package filter_test

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/translate/filter"
	"github.com/gatewright/gatewright/internal/translate/prototest"
)

func TestLoops(t *testing.T) {
	t.Parallel()
	// The filter before it lets requests pass unseen.
	first := filter.Chain(&ir.Port{}, &ir.Chain{Filters: 2})[1]
	if first.GetName() != filter.Loops {
		t.Fatalf("a looping request passes %s first", first.GetName())
	}
	var loops faultv3.HTTPFault
	if err := first.GetTypedConfig().UnmarshalTo(&loops); err != nil {
		t.Fatal(err)
	}
	prototest.Valid(t, &loops)
	if loops.GetAbort().GetHttpStatus() != 508 || loops.GetDelay() != nil || loops.GetAbort().GetHeaderAbort() != nil {
		t.Errorf("it does %v", &loops)
	}
	match := loops.GetHeaders()[0]
	if match.GetName() != filter.HopsHeader || match.GetTreatMissingHeaderAsEmpty() || match.GetInvertMatch() {
		t.Errorf("it looks at %v", match)
	}
	hop, copied := counts(t, filter.CountHop()), counts(t, filter.CountCopy())
	for _, c := range []struct {
		name  string
		value string
		ends  bool
	}{
		{"nine hops go on", strings.Repeat(hop, 9), false},
		{"the tenth is the last", strings.Repeat(hop, 10), true},
		{"many more too", strings.Repeat(hop, 4000), true},
		{"what a client writes before does not help", "x" + strings.Repeat(hop, 10), true},
		{"a copy goes on", hop + copied, false},
		{"a copy of a copy does not", hop + copied + hop + copied, true},
		{"nothing counted", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Contains(c.value, match.GetStringMatch().GetContains()); got != c.ends {
				t.Errorf("ends: %t", got)
			}
		})
	}
}

// counts is what is appended to the value that is there. Envoy matches several values one by one, so there must be one.
func counts(t *testing.T, option *corev3.HeaderValueOption) string {
	t.Helper()
	digits, ok := strings.CutPrefix(option.GetHeader().GetValue(), "%REQ("+filter.HopsHeader+")%")
	if !ok || digits == "" || option.GetHeader().GetKey() != filter.HopsHeader ||
		option.GetAppendAction() != corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD {
		t.Errorf("it does not count: %v", option)
	}
	return digits
}

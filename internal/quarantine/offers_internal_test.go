package quarantine

import (
	"encoding/json"
	"strings"
	"testing"
)

// published is what was offered last.
type published []byte

func (p *published) Offer(_, _ string, instead []byte) { *p = instead }
func (p *published) Withdraw(string)                   { *p = nil }

// TestAGoodVersionThatIsTooLargeTakesNothingElseFromAnOffer offers a version that is larger than an offer.
func TestAGoodVersionThatIsTooLargeTakesNothingElseFromAnOffer(t *testing.T) {
	t.Parallel()
	for size, fits := range map[int]bool{900 << 10: true, 1 << 20: false} {
		var body published
		q := &Quarantine{peers: &body}
		good := json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
		q.publish("key", "digest", offerContent{Good: good, Reason: "no such thing", Apart: true, Floor: closed})
		o, ok := NewOffer("digest", body)
		if !ok || o.content.Reason != "no such thing" || !o.content.Apart || o.content.Floor != closed || (len(o.content.Good) > 0) != fits {
			t.Errorf("a good version of %d bytes: offered %t, %q, apart %t, floor %d, %d bytes",
				size, ok, o.content.Reason, o.content.Apart, o.content.Floor, len(o.content.Good))
		}
		if len(body) > 1<<20 {
			t.Errorf("the offer has %d bytes", len(body))
		}
	}
}

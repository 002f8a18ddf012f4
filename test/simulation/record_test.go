package simulation

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/gatewright/gatewright/test/simulation/model"
)

// recordedDrain is the --drain-time-s of recorded Envoys, so that a recording takes seconds.
const recordedDrain = 2 * time.Second

const recordedPod = "recorded"

// TestRecordings checks the model with what a live Envoy has sent.
func TestRecordings(t *testing.T) {
	t.Parallel()
	for _, anchored := range []bool{true, false} {
		t.Run(fmt.Sprintf("anchored=%t", anchored), func(t *testing.T) {
			t.Parallel()
			file, err := os.Open(recording(anchored))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			records, err := model.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := model.Replay(records, replayed(anchored)); err != nil {
				t.Error(err)
			}
		})
	}
}

func recording(anchored bool) string {
	return filepath.Join("testdata", fmt.Sprintf("anchored-%t.jsonl.gz", anchored))
}

func replayed(anchored bool) model.Options {
	o := model.Options{Node: &corev3.Node{Id: recordedPod}, Drain: recordedDrain}
	if anchored {
		o.Anchor = anchorScopes
	}
	return o
}

//go:build !conformance

package conformance

import (
	"flag"
	"os"
	"testing"

	"sigs.k8s.io/gateway-api/conformance/tests"
)

//go:generate go test -run ^TestTable$ -update .

const tablePath = "../../docs/conformance.md"

var update = flag.Bool("update", false, "write the table instead of comparing with it")

func TestTable(t *testing.T) {
	t.Parallel()
	want := table(tests.ConformanceTests)
	if *update {
		if err := os.WriteFile(tablePath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(tablePath); err != nil || string(got) != want {
		t.Errorf("%s is not what is claimed (%v); run make generate", tablePath, err)
	}
}

package limits_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/limits"
)

// TestEveryLimitCanBeSetByTheChart compares the limits with those that the chart takes, and with those that are documented.
func TestEveryLimitCanBeSetByTheChart(t *testing.T) {
	t.Parallel()
	l := limits.Defaults()
	_, list, _ := strings.Cut(l.Set(map[string]int{"none": 1}).Error(), "there are ")
	names := strings.Split(list, ", ")

	text, err := os.ReadFile("../../charts/gatewright/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Limits struct {
				Properties map[string]any `json:"properties"`
			} `json:"limits"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, ok := schema.Properties.Limits.Properties[name]; !ok {
			t.Errorf("the chart does not take %s", name)
		}
		field := reflect.ValueOf(l).FieldByName(strings.ToUpper(name[:1]) + name[1:])
		if row := fmt.Sprintf("| %#q | %s |", name, grouped(field.Int())); !strings.Contains(string(docs), row) {
			t.Errorf("docs/limits.md has no row %q", row)
		}
	}
	for name := range schema.Properties.Limits.Properties {
		if !slices.Contains(names, name) {
			t.Errorf("the chart takes %s, which is no limit", name)
		}
	}
}

// grouped writes a number with commas, as the docs do.
func grouped(number int64) string {
	text := strconv.FormatInt(number, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

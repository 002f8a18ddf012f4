package geoip

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

// database is a small one, of a kind that proxies open.
func database(t *testing.T, change func(string) string) string {
	t.Helper()
	content, err := Write(map[netip.Prefix]Record{
		netip.MustParsePrefix("192.0.2.0/24"):  {"country": Record{"iso_code": "DE"}},
		netip.MustParsePrefix("2001:db8::/32"): {"country": Record{"iso_code": "FR"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(path, []byte(change(string(content))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func same(s string) string { return s }

func TestInstall(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "geoip")
	path := database(t, same)
	read := func(d ir.GeoDatabase) string {
		content, err := os.ReadFile(filepath.Join(directory, ir.GeoFile(d))) //nolint:gosec // the test's own file
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	// A pod may start several times, and its parameters change in between.
	for range 2 {
		if err := Install(directory, ir.GeoDatabases{}.Sources()); err != nil {
			t.Fatal(err)
		}
		if err := Install(directory, ir.GeoDatabases{City: path}.Sources()); err != nil {
			t.Fatal(err)
		}
	}
	source, err := os.ReadFile(path) //nolint:gosec // the test's own file
	if err != nil {
		t.Fatal(err)
	}
	nothing, err := Nothing()
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range map[ir.GeoDatabase]string{
		ir.GeoCityDB: string(source), ir.GeoCountryDB: string(source), ir.GeoASNDB: string(nothing), ir.GeoISPDB: string(nothing),
		ir.GeoAnonymousIPDB: string(nothing),
	} {
		if read(d) != want {
			t.Errorf("%s is not the file that it has to be", d)
		}
		if err := checkFile(filepath.Join(directory, ir.GeoFile(d))); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
}

func TestWhatProxiesCannotOpenIsNotInstalled(t *testing.T) {
	t.Parallel()
	replaced := func(from, to string) func(string) string {
		return func(s string) string {
			i := strings.LastIndex(s, from)
			return s[:i] + to + s[i+len(from):]
		}
	}
	for name, c := range map[string]struct {
		change func(string) string
		want   string
	}{
		"an empty file":            {func(string) string { return "" }, "no database"},
		"another file":             {func(string) string { return strings.Repeat("x", metadataTail+1) }, "no database"},
		"a file without its end":   {func(s string) string { return s[:len(s)-5] }, "metadata cannot be read"},
		"a file without its tree":  {func(s string) string { return s[strings.LastIndex(s, marker):] }, "shorter"},
		"another version":          {replaced("major_version\xa2\x00\x02", "major_version\xa2\x00\x03"), "version"},
		"another size of records":  {replaced("record_size\xa2\x00\x20", "record_size\xa2\x00\x21"), "version"},
		"a number of another type": {replaced("record_size\xa2\x00\x20", "record_size\xc2\x00\x20"), "record_size"},
		"no time":                  {replaced("build_epoch\x08\x02\x00\x00\x00\x00\x00\x00\x00\x01", "build_epoch\x00\x02"), "build_epoch"},
		"a missing field":          {replaced("database_type", "database_typo"), "database_type"},
		"no IPv6 addresses":        {replaced("ip_version\xa2\x00\x06", "ip_version\xa2\x00\x04"), "IPv6"},
		"a pointer to nowhere":     {replaced("record_size\xa2\x00\x20", "record_size\x2f\xff\x20"), "metadata cannot be read"},
		"a pointer to itself":      {func(s string) string { return s[:strings.LastIndex(s, marker)] + marker + "\x20\x00" }, "metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Install(t.TempDir(), ir.GeoDatabases{ASN: database(t, c.change)}.Sources())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
		})
	}
	err := Install(t.TempDir(), ir.GeoDatabases{ASN: "/nowhere.mmdb"}.Sources())
	if err == nil || !strings.Contains(err.Error(), "/nowhere.mmdb is not there; mount") {
		t.Errorf("the error is %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	nothing, err := Nothing()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(nothing)
	f.Fuzz(func(_ *testing.T, content []byte) { _ = check(content, int64(len(content))) })
}

// Three lists of pointers to the next list have 150 to the power of 4 values in a thousand bytes.
func TestMetadataThatRepeatsItselfIsRefused(t *testing.T) {
	t.Parallel()
	const n = 150
	head := []byte{0x1d, typeList - lastShortType, n - 29}
	data := []byte(marker)
	for level := 1; level <= 3; level++ {
		data = append(data, head...)
		at := level * (len(head) + 2*n)
		for range n {
			data = append(data, 0x20|byte(at>>8), byte(at)) //nolint:gosec // below 2048
		}
	}
	data = append(data, head...)
	for range n {
		data = append(data, 0x40) // an empty text
	}
	left := maxValues
	r := reader{data: data[len(marker):], left: &left}
	if _, _, err := r.value(maxDepth); err == nil || left != -1 {
		t.Errorf("got %v with %d values left", err, left)
	}
}

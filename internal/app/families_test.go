package app

import (
	"slices"
	"testing"

	"github.com/gatewright/gatewright/internal/ir"
)

func TestFamiliesAreThoseOfThePod(t *testing.T) {
	t.Parallel()
	for addresses, want := range map[string]ir.Families{
		"":                              nil,
		"198.18.16.2":                   {ir.IPv4},
		"fd00:18::2":                    {ir.IPv6},
		"198.18.16.2,fd00:18::2":        {ir.IPv4, ir.IPv6},
		"fd00:18::2, 198.18.16.2":       {ir.IPv6, ir.IPv4},
		"198.18.16.2,198.18.16.3,wrong": {ir.IPv4},
	} {
		if got := detectFamilies(addresses); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", addresses, got, want)
		}
	}
}

func TestFamiliesCanBeChosen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		flag  []string
		want  ir.Families
		wrong bool
	}{
		{"none", nil, nil, false},
		{"one", []string{"IPv4"}, ir.Families{ir.IPv4}, false},
		{"both", []string{"IPv6", "IPv4"}, ir.Families{ir.IPv6, ir.IPv4}, false},
		{"one twice", []string{"IPv4", "IPv4"}, nil, true},
		{"another", []string{"ipv6"}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseFamilies(c.flag)
			if (err != nil) != c.wrong || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

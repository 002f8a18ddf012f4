package app

import (
	"strings"
	"testing"
)

func TestDeniedAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, flag, problem string
		want                string
	}{
		{"ranges of both families", "10.244.0.0/16,fd00::/8", "", "10.244.0.0/16 fd00::/8"},
		{"a range is its beginning", "10.244.1.2/16", "", "10.244.0.0/16"},
		{"an address is no range", "10.244.1.2", "--external-hostname-denied-addresses", ""},
		{"none", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := Options{
				Namespace: "gatewright-system", ControllerName: "gatewright.dev/gateway-controller", ClusterDomain: "cluster.local",
				LogLevel: "info", LogFormat: "json",
			}
			if c.flag != "" {
				o.DeniedAddresses = strings.Split(c.flag, ",")
			}
			_, err := o.complete()
			if (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Fatalf("problem: %v", err)
			}
			var got []string
			for _, r := range o.denied {
				got = append(got, r.String())
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("denied: %v, want %s", got, c.want)
			}
		})
	}
}

func TestExternalHostnamesAreServedUnlessSwitchedOff(t *testing.T) {
	t.Parallel()
	if got := Command().Flags().Lookup("external-hostnames").DefValue; got != "true" {
		t.Errorf("the default is %s", got)
	}
}

func TestTheControllerName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, controller, installation string
		wrong                          bool
	}{
		{"the default has no label", "gatewright.dev/gateway-controller", "", false},
		{"another has one", "example.com/team", "example.com_team-d36668c2", false},
		{"none", "", "", true},
		{"no domain", "/team", "", true},
		{"no path", "example.com", "", true},
		{"too long", "example.com/" + strings.Repeat("x", 250), "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := Options{Namespace: "system", ControllerName: c.controller, LogLevel: "info", LogFormat: "json"}
			if _, err := o.complete(); (err != nil) != c.wrong {
				t.Errorf("got %v", err)
			}
			if got := o.installation(); !c.wrong && got != c.installation {
				t.Errorf("the installation is %q, want %q", got, c.installation)
			}
		})
	}
}

func TestRateLimitsNeedTheOwnNamespace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		watched []string
		wrong   bool
	}{"all": {nil, false}, "with it": {[]string{"shop", "system"}, false}, "without it": {[]string{"shop"}, true}} {
		o := Options{
			Namespace: "system", ControllerName: "example.com/team", LogLevel: "info", LogFormat: "json", RateLimits: true,
			WatchNamespaces: c.watched,
		}
		if _, err := o.complete(); (err != nil) != c.wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}

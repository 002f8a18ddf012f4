//go:build charts

package charts

import (
	"maps"
	"strings"
	"testing"
)

const (
	release   = "gatewright-crds"
	path      = "../../charts/gatewright-crds"
	leave     = "--set=gatewayAPI.channel=none"
	unchecked = "--set=unchecked=true"
)

// TestInstall: an empty cluster gets the definitions of the chart, by each channel, with all that says what they are. Helm installs the
// larger set, which has to fit in a Secret. It applies one hook after the other, so kubectl, which is faster, applies the other set.
func TestInstall(t *testing.T) {
	for channel, install := range map[string]func(*testing.T, string){
		"experimental": func(t *testing.T, channel string) { helm(t, "install", release, path, channel) },
		"standard": func(t *testing.T, channel string) {
			kubectl(t, helm(t, "template", release, path, unchecked, channel), "apply", "--server-side", "--filename=-")
		},
	} {
		t.Run(channel, func(t *testing.T) {
			clean(t)
			install(t, "--set=gatewayAPI.channel="+channel)
			kubectl(t, "", "wait", "crd", "--all", "--for=condition=Established", "--timeout=2m")
			definitions := live(t)
			files := append(definitionFiles(t, path, channel), definitionFiles(t, path, "gatewright")...)
			if len(definitions) != len(files) {
				t.Errorf("there are %d definitions, want %d", len(definitions), len(files))
			}
			for _, file := range files {
				want := read(t, file)
				d := definitions[want.Name]
				maps.Copy(want.Annotations, map[string]string{"meta.helm.sh/release-name": release, "helm.sh/resource-policy": "keep"})
				if !has(d.Annotations, want.Annotations) || !has(d.Labels, want.Labels) {
					t.Errorf("%s has the annotations %v and the labels %v, want %v and %v",
						want.Name, d.Annotations, d.Labels, want.Annotations, want.Labels)
				}
				if strings.Contains(want.Name, ".networking.") && (d.channel() != channel || d.version() != current) {
					t.Errorf("%s is of the %s channel, %s", want.Name, d.channel(), d.version())
				}
			}
		})
	}
}

func has(all, want map[string]string) bool {
	for key, value := range want {
		if all[key] != value {
			return false
		}
	}
	return true
}

// TestUpgrade: a newer chart replaces the definitions of its release, and an older one does not put them back.
func TestUpgrade(t *testing.T) {
	now := chart(t, "0.1.0", current)
	clean(t)
	old := chart(t, "0.0.9", older)
	helm(t, "install", release, old)
	before := live(t)
	helm(t, "upgrade", release, now)
	for name, d := range live(t) {
		if d.UID != before[name].UID {
			t.Errorf("%s was deleted", name)
		}
		if strings.Contains(name, ".networking.") && d.version() != current {
			t.Errorf("%s is of %s", name, d.version())
		}
	}
	refused(t, []string{classes, "newer than " + older}, "upgrade", release, old)
	refused(t, []string{"extensions.gatewright.dev", "newer than v0.0.9"}, "upgrade", release, old, leave)
}

// TestForceReplace: with that flag, Helm updates what it would update without, and deletes nothing, before it reports an error.
func TestForceReplace(t *testing.T) {
	now := chart(t, "0.1.0", current)
	clean(t)
	helm(t, "install", release, chart(t, "0.0.9", older))
	before := live(t)
	_, err := command(t.Context(), "", "helm", "upgrade", release, now, "--force-replace")
	if err == nil || !strings.Contains(err.Error(), "server-side apply and force replace") {
		t.Errorf("helm upgrade --force-replace does not report what it cannot do: %v", err)
	}
	updated := live(t)
	for name, d := range before {
		if updated[name].UID != d.UID || updated[name].DeletionTimestamp != nil {
			t.Errorf("%s was deleted", name)
		}
		if strings.Contains(name, ".networking.") && updated[name].version() != current {
			t.Errorf("%s is of %s", name, updated[name].version())
		}
	}
	kubectl(t, upstream(t, "standard", newer), "replace", "--filename=-")
	refused(t, []string{classes}, "upgrade", release, now, "--force-replace")
}

// TestClientSideApply: Helm applies no definition that exists, and goes on so until it is told otherwise.
func TestClientSideApply(t *testing.T) {
	now := chart(t, "0.1.0", current)
	clean(t)
	helm(t, "install", release, chart(t, "0.0.9", older))
	for _, flags := range [][]string{{"--server-side=false"}, {"--server-side=false", "--force-replace"}, nil} {
		refused(t, []string{"already exists"}, append([]string{"upgrade", release, now}, flags...)...)
	}
	helm(t, "upgrade", release, now, "--server-side=true")
	if d := live(t)[classes]; d.version() != current {
		t.Errorf("%s is of %s", classes, d.version())
	}
}

// TestReplacedByKubectl: what a client has replaced belongs to it, and is neither replaced nor deleted.
func TestReplacedByKubectl(t *testing.T) {
	now := chart(t, "0.1.0", current)
	clean(t)
	helm(t, "install", release, now)
	kubectl(t, upstream(t, "standard", current), "replace", "--filename=-")
	replaced := live(t)
	if replaced[classes].owner() != "" || replaced[classes].Annotations["helm.sh/resource-policy"] != "" {
		t.Fatalf("kubectl replace keeps annotations: %v", replaced[classes].Annotations)
	}
	refused(t, []string{classes + " (standard channel, " + current + "): no Helm release owns it", "gatewayAPI.channel=none"},
		"upgrade", release, now)
	refused(t, []string{classes}, "upgrade", release, now, "--take-ownership", "--force-conflicts")
	refused(t, []string{classes}, "upgrade", release, now, "--dry-run=server")
	helm(t, "upgrade", release, now, leave)
	unchanged(t, replaced)
}

// TestOtherDefinitions: definitions that another client made of a newer version or another channel stay, also if they name the release.
func TestOtherDefinitions(t *testing.T) {
	now := chart(t, "0.1.0", current)
	clean(t)
	helm(t, "install", release, now)
	for name, test := range map[string]struct{ channel, version, reason string }{
		"a newer version":             {"standard", newer, "newer than " + current},
		"a version that is no number": {"standard", "monthly-2026.10", "cannot be compared"},
		"the other channel":           {"experimental", current, "would install the standard channel"},
	} {
		t.Run(name, func(t *testing.T) {
			kubectl(t, upstream(t, test.channel, test.version), "apply", "--server-side", "--force-conflicts", "--filename=-")
			refused(t, []string{classes + " (" + test.channel + " channel, " + test.version + ")", test.reason},
				"upgrade", release, now, "--set=gatewayAPI.channel=standard")
			applied := live(t)
			helm(t, "upgrade", release, now, leave)
			unchanged(t, applied)
		})
	}
}

// TestRollback: a rollback changes no definition, and what follows it neither, whatever the revisions had.
func TestRollback(t *testing.T) {
	now := chart(t, "0.1.0", current)
	for name, test := range map[string]struct {
		first    []string
		replaced bool
	}{
		"to an older chart": {first: []string{chart(t, "0.0.9", older)}},
		"to a revision without the Gateway API, which kubectl has replaced": {first: []string{now, leave}, replaced: true},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			helm(t, append([]string{"install", release}, test.first...)...)
			helm(t, "upgrade", release, now, "--set=gatewayAPI.channel=standard")
			if test.replaced {
				kubectl(t, upstream(t, "standard", current), "replace", "--filename=-")
			}
			definitions := live(t)
			helm(t, "rollback", release, "1")
			unchanged(t, definitions)
			// One that is interrupted leaves a revision that failed, and none that is deployed.
			_, _ = command(t.Context(), "", "helm", "rollback", release, "2", "--wait", "--timeout=1ns")
			unchanged(t, definitions)
			helm(t, "upgrade", release, now, leave)
			unchanged(t, definitions)
		})
	}
}

// TestUninstall: the definitions stay, and only a release of the same name takes them again.
func TestUninstall(t *testing.T) {
	now := chart(t, "0.1.0", current)
	clean(t)
	helm(t, "install", release, now)
	definitions := live(t)
	helm(t, "uninstall", release)
	unchanged(t, definitions)
	helm(t, "install", release, now)
	unchanged(t, definitions)
	helm(t, "uninstall", release)

	refused(t, []string{classes, "the release default/" + release + " owns it"}, "install", "other", now)
	argv := []string{"annotate", "--overwrite", "crd", "--all", "meta.helm.sh/release-name=other", "meta.helm.sh/release-namespace=default"}
	kubectl(t, "", argv...)
	helm(t, "install", "other", now)
	helm(t, "upgrade", "other", chart(t, "0.2.0", newer))
	if d := live(t)[classes]; d.version() != newer || d.owner() != "other" {
		t.Errorf("after the hand-over the annotations are %v", d.Annotations)
	}
}

// TestHandOver: definitions that kubectl applied stay kubectl's until the user gives them to the release.
func TestHandOver(t *testing.T) {
	now := chart(t, "0.1.0", current)
	for name, apply := range map[string][]string{
		"client-side apply": {"create", "--save-config"},
		"server-side apply": {"apply", "--server-side"},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			kubectl(t, upstream(t, "standard", older), append(apply, "--filename=-")...)
			refused(t, []string{classes + " (standard channel, " + older + ")", "no Helm release owns it"}, "install", release, now)
			refused(t, []string{classes}, "install", release, now, "--take-ownership", "--force-conflicts")

			rendered := helm(t, "template", release, now, unchecked)
			kubectl(t, rendered, "apply", "--server-side", "--force-conflicts", "--field-manager=helm", "--filename=-")
			helm(t, "install", release, now)
			if d := live(t)[classes]; d.version() != current || d.owner() != release {
				t.Errorf("after the hand-over the annotations are %v", d.Annotations)
			}
			helm(t, "upgrade", release, chart(t, "0.2.0", newer))
		})
	}
}

// TestWithoutCluster: rendering that cannot see definitions needs a word from the user, who cannot say it where Helm sees them.
func TestWithoutCluster(t *testing.T) {
	now := chart(t, "0.1.0", current)
	clean(t)
	refused(t, []string{"--dry-run=server", "unchecked=true"}, "template", release, now)
	refused(t, []string{"unchecked=true"}, "install", release, now, "--dry-run=client")
	refused(t, []string{"unchecked=true is for"}, "install", release, now, unchecked)
	rendered := helm(t, "template", release, now, unchecked)
	if strings.Contains(rendered, `"helm.sh/hook"`) {
		t.Error("there are hooks, which Argo CD deletes before it makes them anew")
	}
	helm(t, "install", release, now, "--dry-run=server")
	if n := len(live(t)); n != 0 {
		t.Errorf("a dry run made %d definitions", n)
	}
}

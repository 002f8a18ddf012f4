{{/*
Why a definition of the cluster (.found, its metadata) must not be replaced by one of the chart (.wanted, its metadata); empty if it may be.
*/}}
{{- define "gatewright-crds.conflict" -}}
{{- $found := .found.annotations | default dict }}
{{- $owner := include "gatewright-crds.owner" .found }}
{{- $version := include "gatewright-crds.version" .found }}
{{- $wanted := include "gatewright-crds.version" .wanted }}
{{- $channel := "gateway.networking.k8s.io/channel" }}
{{- if hasKey .found "deletionTimestamp" -}}
it is being deleted
{{- else if ne $owner (include "gatewright-crds.owner" .wanted) -}}
{{ if eq $owner "/" }}no Helm release owns it{{ else }}the release {{ $owner }} owns it{{ end }}
{{- else if ne (get $found $channel) (get .wanted.annotations $channel) -}}
the chart would install the {{ get .wanted.annotations $channel }} channel
{{- else if not (regexMatch `^v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$` $version) -}}
its version cannot be compared with {{ $wanted }} of the chart
{{- else if gt ((semver $version).Compare (semver $wanted)) 0 -}}
it is newer than {{ $wanted }} of the chart
{{- end }}
{{- end }}

{{- define "gatewright-crds.owner" -}}
{{- $annotations := .annotations | default dict -}}
{{ get $annotations "meta.helm.sh/release-namespace" }}/{{ get $annotations "meta.helm.sh/release-name" }}
{{- end }}

{{- define "gatewright-crds.version" -}}
{{- $annotations := .annotations | default dict -}}
{{ get $annotations "gateway.networking.k8s.io/bundle-version" | default (get $annotations "gatewright.dev/version") }}
{{- end }}

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

# Whatever Go the machine has (1.21 or later) fetches this one.
export GOTOOLCHAIN := go1.27.3

# Tools are built once for each version and kept outside the checkout.
CACHE := $(or $(GATEWRIGHT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gatewright)
pinned = $(shell awk '$$1 == "$(2)" && $$2 ~ /^v/ {print $$2} $$1 == "require" && $$2 == "$(2)" {print $$3}' $(1)/go.mod)
GOLANGCI_LINT := $(CACHE)/tools/golangci-lint-$(call pinned,tools/lint,github.com/golangci/golangci-lint/v2)/golangci-lint
GOTESTSUM := $(CACHE)/tools/gotestsum-$(call pinned,tools/test,gotest.tools/gotestsum)/gotestsum
BENCHSTAT := $(CACHE)/tools/benchstat-$(call pinned,tools/test,golang.org/x/perf)/benchstat
GO_LICENSES := $(CACHE)/tools/go-licenses-$(call pinned,tools/check,github.com/google/go-licenses/v2)/go-licenses
GOVULNCHECK := $(CACHE)/tools/govulncheck-$(call pinned,tools/check,golang.org/x/vuln)/govulncheck
ACTIONLINT := $(CACHE)/tools/actionlint-$(call pinned,tools/check,github.com/rhysd/actionlint)/actionlint
CYCLONEDX := $(CACHE)/tools/cyclonedx-gomod-$(call pinned,tools/release,github.com/CycloneDX/cyclonedx-gomod)/cyclonedx-gomod
COSIGN := $(CACHE)/tools/cosign-$(call pinned,tools/sign,github.com/sigstore/cosign/v3)/cosign
HELM := $(CACHE)/tools/helm-$(call pinned,test/cluster/build/helm,helm.sh/helm/v4)/helm

# Linters, tests, tools and images have one form of each dependency, so that it is compiled once. The race detector needs another, with C.
export CGO_ENABLED := 0
export GOFLAGS := $(strip -trimpath $(GOFLAGS))
unit unit-test-tools: export CGO_ENABLED := 1

# Where test results are also written as JSON lines, when set.
RESULTS ?=
results = $(if $(RESULTS),--jsonfile=$(abspath $(RESULTS))/$(1).json)

# Anything here runs a failed test of the cluster once more, unless more than three failed, or one with a panic or a data race.
RERUN ?=
rerun = $(if $(RERUN),--rerun-fails=1 --rerun-fails-max-failures=3 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race \
	--packages=./$(1))

BENCH ?= .
BENCHTIME ?= 1s
BENCHCOUNT ?= 1
FUZZTIME ?= 30s
# Sets of objects for the live Envoy: how many (instead of FUZZTIME), from which seed, beginning with which.
SETS ?= 0
SEED ?= 1
FIRST ?= 0
# Sets of objects that are damaged to see whether a request loses its guard.
GUARDS ?= 10000
# Sets of rules to be asked as lists and as trees.
TREES ?= 300

##@ Everyday

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} FNR == 1 && NR > 1 {print "\nThe test cluster"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-zA-Z0-9_-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: download
download: ## Download the modules of every go.mod, in up to three attempts
	hack/download.sh

.PHONY: build
build: ## Build the controller, the drain program of proxies and gwr into bin/
	go build -trimpath -o bin/ ./cmd/gatewright ./cmd/gatewright-drain ./cmd/gwr

# Binaries of tests are linked without debug information, which takes less time. What go vet finds, the linter finds.
TESTBUILD := -vet=off -ldflags=-w

gotest = $(GOTESTSUM) --format=pkgname-and-test-fails $(call results,$@) -- $(TESTBUILD) -count=1

# The parts of make test have the names of their results. All of them run, and those that failed are listed at the end.
TESTS := unit unit-properties unit-api unit-test-tools unit-argocd unit-lwepp
.PHONY: test $(TESTS)
test: ## Run the unit and property tests with the race detector, and the long property tests without it
	+@hack/make-each.sh $(TESTS)
unit: $(GOTESTSUM)
	$(gotest) -race -timeout=30m ./...
unit-properties: $(GOTESTSUM)
	$(gotest) ./internal/pipeline
unit-api:
	cd api && go vet ./... # with the dependencies that others may have
unit-test-tools: $(GOTESTSUM)
	cd test && $(gotest) -race ./...
unit-argocd: $(GOTESTSUM)
	cd test/argocd && $(gotest) ./...
unit-lwepp: $(GOTESTSUM)
	cd test/cluster/build/lwepp && $(gotest) ./...

LINTS := lint-layout lint-text lint-modules lint-chart lint-workflows lint-go lint-go-api lint-go-test lint-go-argocd
.PHONY: lint
lint: ## Check style, import rules, layout, text, modules, workflows and the chart
	+@hack/make-each.sh $(LINTS)

.PHONY: lint-go lint-go-api lint-go-test lint-go-argocd
lint-go: $(GOLANGCI_LINT)
	$(GOLANGCI_LINT) run ./...
lint-go-api: $(GOLANGCI_LINT)
	cd api && $(GOLANGCI_LINT) run ./...
lint-go-test: $(GOLANGCI_LINT)
	cd test && $(GOLANGCI_LINT) run ./...
lint-go-argocd: $(GOLANGCI_LINT)
	cd test/argocd && $(GOLANGCI_LINT) run ./...

.PHONY: lint-layout
lint-layout: ## Check that every package has a doc.go and no file is too long
	hack/check-layout.sh

.PHONY: lint-text
lint-text: ## Check the terms of docs/glossary.md in code and docs, the length of lines, links, paths and decision records
	go run ./hack/textlint

.PHONY: lint-modules
lint-modules: ## Check that every go.mod is tidy
	hack/check-modules.sh

.PHONY: lint-chart
lint-chart: $(HELM) ## Check the Helm chart and its schema
	hack/check-chart.sh $(HELM)

.PHONY: lint-workflows
lint-workflows: $(ACTIONLINT) ## Check the workflows of GitHub
	$(ACTIONLINT) -no-color -shellcheck= -pyflakes=

.PHONY: licences
licences: $(GO_LICENSES) ## Check the licences of what programs and the API depend on
	hack/check-licences.sh $(GO_LICENSES)

# A copy of the database, instead of https://vuln.go.dev: a directory with files of the format OSV, as file:///path.
VULNDB ?=
.PHONY: vulnerabilities
vulnerabilities: $(GOVULNCHECK) ## Look for known vulnerabilities in every module (VULNDB=file:///path for a copy of the database)
	hack/check-vulnerabilities.sh $(GOVULNCHECK) $(VULNDB)

.PHONY: lint-selftest
lint-selftest: $(GOLANGCI_LINT) ## Prove that an import against the rules fails the linter
	hack/lint-selftest.sh $(GOLANGCI_LINT)

# The API comes first: the rest is compiled with its deep copies.
GENERATES := generate-api generate-root generate-test format
.PHONY: generate $(GENERATES)
generate: ## Write generated code and format all code
	+@hack/make-each.sh $(GENERATES)
generate-api:
	cd api && go generate ./...
generate-root:
	go generate ./...
generate-test:
	cd test && go generate ./...
format: $(GOLANGCI_LINT)
	$(GOLANGCI_LINT) fmt ./...
	cd api && $(GOLANGCI_LINT) fmt ./...
	cd test && $(GOLANGCI_LINT) fmt ./...

.PHONY: verify
verify: ## Generate again, in a copy, and fail on a difference
	hack/verify.sh

include test/cluster/cluster.mk

##@ On the test cluster

.PHONY: quickstart
quickstart: ## Run the README's quickstart word for word
	hack/run-page.sh README.md Quickstart

.PHONY: tutorial-model
tutorial-model: ## Run the tutorial about a routed model word for word
	hack/run-page.sh docs/tutorials/routed-model.md

# How proxies are configured in the suite: empty for xDS and every claimed feature, files for the core of GATEWAY-HTTP (after make install
# SET=files.enabled=true).
DELIVERY ?=
# Where they run: nothing for beside their Gateway, shared for one set of proxies for all Gateways of the suite.
PLACEMENT ?=
conformance: override export TESTFLAGS := $(TESTFLAGS) $(if $(DELIVERY),-delivery=$(DELIVERY)) $(if $(PLACEMENT),-placement=$(PLACEMENT)) \
	$(if $(filter-out ipv4,$(FAMILY)),-family=$(FAMILY))

.PHONY: conformance
conformance: $(GOTESTSUM) $(CLUSTER) ## Run the official suite, write the report (needs install CHANNEL=experimental; DELIVERY, PLACEMENT)
	hack/cluster-test.sh $(GOTESTSUM) conformance 45m $(call results,conformance)

.PHONY: conformance-inference
conformance-inference: $(GOTESTSUM) $(CLUSTER) ## Run the official suite for InferencePools, write the report (needs install INFERENCE=1)
	hack/cluster-test.sh $(GOTESTSUM) inference 45m $(call results,inference)

.PHONY: families
families: $(GOTESTSUM) $(CLUSTER) ## Run the suite and the tests about addresses on dual-stack and IPv6 clusters (no cluster may run)
	hack/families.sh

.PHONY: multicluster
multicluster: $(GOTESTSUM) $(CLUSTER) ## Run the tutorial about two clusters word for word, then lose one under load (no cluster may run)
	hack/multicluster.sh $(GOTESTSUM) --format=standard-verbose $(call results,multicluster)

# They mostly wait for pods, so more run at a time than there are cores.
e2e: override export TESTFLAGS := -test.parallel=4 $(TESTFLAGS)

.PHONY: e2e
e2e: $(GOTESTSUM) $(CLUSTER) ## Run the end-to-end tests
	hack/cluster-test.sh $(GOTESTSUM) e2e 20m $(call results,e2e) $(call rerun,e2e)

# One case of docs/faults.md by its number or its name; all of them when it is empty.
CASE ?=
# Anything here makes the long cases shorter, and runs one at a time: on two cores each case measures the others, too.
SHORT ?=
fault: override export TESTFLAGS := $(TESTFLAGS) $(if $(CASE),-test.run=^Test(Case0*$(CASE)[^0-9]|(Case[0-9][0-9])?$(CASE))) \
	$(if $(SHORT),-test.short -test.parallel=1)

.PHONY: fault
fault: $(GOTESTSUM) $(CLUSTER) ## Do what must not hurt, and measure (CASE=14 for one, SHORT=1 for less)
	hack/cluster-test.sh $(GOTESTSUM) fault 6h $(call results,fault) $(call rerun,fault)

# The cases that ask whether every answer is right. The others measure how much time or memory something takes, and need a quiet machine.
.PHONY: fault-functional
fault-functional: ## Run the fault cases whose subject is a right answer, as CI does
	$(MAKE) --no-print-directory fault SHORT=1 CASE='(1[1-8]|21|3[6-9]|4[0-2]|44|55|56|59|WaitForProgrammed|IdleStreams)'

##@ Measure and search

# Whatever of these is not said is as test/bench has it: an implementation's class, the numbers of routes, how many Gateways, more flags.
CLASS ?= gatewright
ROUTES ?=
GATEWAYS ?=
BENCHFLAGS ?=
FIGURES ?= docs/performance/$(CLASS).json
bench: export TESTFLAGS = $(if $(SHORT),-test.run=^TestCosts$$,-test.run=^Test(Scale|DataPlane)$$) $(benchflags)
bench-data-plane: export TESTFLAGS = -test.run=^TestDataPlane$$ -apart $(benchflags)
benchflags = -class=$(CLASS) -out=$(abspath $(FIGURES)) \
	-version=$(shell git describe --always --dirty) $(if $(ROUTES),-routes=$(ROUTES)) $(if $(GATEWAYS),-gateways=$(GATEWAYS)) $(BENCHFLAGS)

.PHONY: bench
bench: $(GOTESTSUM) $(CLUSTER) ## Measure on the test cluster (CLASS=gatewright ROUTES=100,1000 GATEWAYS=1), or count (SHORT=1)
	hack/cluster-test.sh $(GOTESTSUM) bench 60m --format=standard-verbose $(call results,bench)

.PHONY: bench-data-plane
bench-data-plane: $(GOTESTSUM) $(CLUSTER) ## Compare the data plane alone with an Envoy configured by hand, and keep what else was measured
	hack/cluster-test.sh $(GOTESTSUM) bench 60m --format=standard-verbose $(call results,bench)

.PHONY: bench-report
bench-report: ## Write docs/performance.md and its plots from what make bench has measured
	go run -C test ./bench/report $(abspath docs)

# More flags, see test/bench/filtercost; the proxy that is measured and everything else have a core each.
FILTERCOSTFLAGS ?=
SIMULATIONS ?= 100000
# How many beginnings of traces of a small world are tried, in all interleavings.
EXPLORE ?= 15000
.PHONY: bench-filtercost
bench-filtercost: $(CLUSTER) ## Measure what each part of a proxy's configuration costs a request, without a cluster (wants h2load)
	ENVOY=$$($(CLUSTER) envoy | tail -n 1) go run -C test ./bench/filtercost $(FILTERCOSTFLAGS)

.PHONY: microbench
microbench: $(BENCHSTAT) ## Run the benchmarks of single packages (BENCH=regexp BENCHTIME=1s BENCHCOUNT=1)
	go test -run='^$$' -bench='$(BENCH)' -benchmem -benchtime=$(BENCHTIME) -count=$(BENCHCOUNT) ./internal/... | tee $(CACHE)/bench.txt
	$(BENCHSTAT) $(CACHE)/bench.txt

.PHONY: scale
scale: $(CLUSTER) ## Measure 100,000 routes, 1,000 proxies and hosts with many rules, without a cluster, and write docs/scale/ (wants wrk)
	ENVOY=$$($(CLUSTER) envoy | tail -n 1) go run -C test ./scale -out=$(abspath docs/scale)

howmany = $(if $(filter-out 0,$(SETS)),-sets=$(SETS),-fuzztime=$(FUZZTIME))

.PHONY: fuzz
fuzz: $(GOTESTSUM) $(CLUSTER) ## Run fuzz tests for FUZZTIME=30s each, then generated objects (GUARDS; SETS, SEED, FIRST, TREES at an Envoy)
	hack/fuzz.sh $(FUZZTIME)
	go test ./internal/pipeline -run='^TestNoRequestLosesItsGuard$$' -timeout=1h -guards=$(GUARDS) -guards-seed=$(SEED)
	TESTFLAGS='-test.skip=^TestExplain -seed=$(SEED) -first=$(FIRST) -trees=$(TREES) $(howmany)' hack/fuzz-envoy.sh $(GOTESTSUM)

.PHONY: fuzz-short
fuzz-short: $(GOTESTSUM) $(CLUSTER) ## Give a live Envoy 1,500 sets of objects, the same ones each time
	TESTFLAGS='-test.skip=^TestExplain -sets=1500' hack/fuzz-envoy.sh $(GOTESTSUM) $(call results,fuzz)

# Requests that are explained and sent to a live Envoy.
EXPLAINED ?= 20000
.PHONY: explain
explain: $(GOTESTSUM) $(CLUSTER) ## Compare gwr explain with a live Envoy, for generated objects and requests (EXPLAINED=20000, SEED, FIRST)
	TESTFLAGS='-test.run=^TestExplain -explained=$(EXPLAINED) -seed=$(SEED) -first=$(FIRST)' hack/fuzz-envoy.sh $(GOTESTSUM)

.PHONY: explain-short
explain-short: $(GOTESTSUM) $(CLUSTER) ## Do that for 2,000 requests, the same ones each time
	TESTFLAGS=-test.run=^TestExplain hack/fuzz-envoy.sh $(GOTESTSUM) $(call results,explain)

.PHONY: bench-delivery
bench-delivery: $(CLUSTER) ## Compare the ways to deliver a Gateway's settings to a live Envoy with 10,000 virtual hosts, without a cluster
	ENVOY=$$($(CLUSTER) envoy | tail -n 1) go test -C test -tags=translation -timeout=20m \
		-run='^$$' -bench=GatewayPolicy -benchtime=3x ./translation

.PHONY: translation
translation: $(GOTESTSUM) $(CLUSTER) ## Send requests to a live Envoy with translated hosts and policies; compare the model Envoy with it
	ENVOY=$$($(CLUSTER) envoy | tail -n 1); export ENVOY; cd test && \
		$(GOTESTSUM) --format=pkgname-and-test-fails $(call results,translation) -- -tags=translation -count=1 -timeout=20m ./translation && \
		$(GOTESTSUM) --format=pkgname-and-test-fails $(call results,live-model) -- -tags=translation -count=1 -run=TestLiveEnvoy ./simulation

.PHONY: charts
charts: $(GOTESTSUM) $(CLUSTER) ## Run the tests of the chart gatewright-crds with Helm and an API server of their own, without a cluster
	PATH=$$($(CLUSTER) binaries | tail -n 1):$$PATH; export PATH; cd test && \
		$(GOTESTSUM) --format=testname $(call results,charts) -- -tags=charts $(TESTBUILD) -count=1 -timeout=30m $(TESTFLAGS) ./charts

.PHONY: simulate
simulate: $(GOTESTSUM) ## Run replicas against model Envoys in fake time (SIMULATIONS=100000 seeds from FIRST=0, EXPLORE=15000)
	cd test && $(GOTESTSUM) --format=testname $(call results,simulation) -- \
		./simulation/... -count=1 -timeout=0 -seeds=$(SIMULATIONS) -first=$(FIRST) -explore=$(EXPLORE) $${TESTFLAGS:-}

.PHONY: simulate-mutations
simulate-mutations: ## Break the control plane in one place at a time, and see that the simulation finds it
	hack/simulate-mutations.sh

.PHONY: guard-mutations
guard-mutations: ## Take away the protection of guards in one place at a time, and see that the property test of guards finds it
	hack/guard-mutations.sh

##@ Everything

.PHONY: gate
gate: ## Do what CI does with HEAD: everything that must hold before a change lands, in a fresh clone, with a cluster of its own
	hack/gate.sh

.PHONY: gate-fast
gate-fast: ## Do the part of it that needs no cluster
	hack/gate.sh fast

# Some of: faults,simulation,mutations,fuzz,explain,families,multicluster,bench,scale.
STAGES ?=
comma := ,
.PHONY: nightly
nightly: ## Run everything in its long form, and write docs/nightly.md (STAGES=faults,simulation; passed stages are not run again)
	hack/nightly.sh $(subst $(comma), ,$(STAGES))

# What the release is called, and the private key of cosign that signs it: a file or a URL. Its password is in COSIGN_PASSWORD.
VERSION ?=
COSIGN_KEY ?=
.PHONY: release
release: $(HELM) $(CYCLONEDX) $(if $(COSIGN_KEY),$(COSIGN)) ## Make the files of a release of HEAD in dist/ (VERSION=v0.1.0, COSIGN_KEY)
	go run -C test ./release -version='$(VERSION)' -out=$(CURDIR)/dist -helm=$(HELM) -cyclonedx=$(CYCLONEDX) \
		-cosign=$(COSIGN) -key='$(if $(findstring ://,$(COSIGN_KEY)),$(COSIGN_KEY),$(abspath $(COSIGN_KEY)))'

.PHONY: clean
clean: ## Remove what was built in the checkout (the cache stays)
	rm -rf bin dist

# install_tool builds package $(3) of module $(1) as $(2); the name appears only when it is complete.
define install_tool
	@mkdir -p $(dir $(2))
	@echo "build $(notdir $(patsubst %/,%,$(dir $(2))))"
	@hack/retry.sh go mod download -C $(1)
	@CGO_ENABLED=0 go build -C $(1) -trimpath -buildvcs=false -ldflags='-s -w' -o $(2).$$$$ $(3) && mv $(2).$$$$ $(2)
endef

$(GOLANGCI_LINT):
	$(call install_tool,tools/lint,$@,github.com/golangci/golangci-lint/v2/cmd/golangci-lint)
$(GO_LICENSES):
	$(call install_tool,tools/check,$@,github.com/google/go-licenses/v2)
$(GOVULNCHECK):
	$(call install_tool,tools/check,$@,golang.org/x/vuln/cmd/govulncheck)
$(ACTIONLINT):
	$(call install_tool,tools/check,$@,github.com/rhysd/actionlint/cmd/actionlint)
$(GOTESTSUM):
	$(call install_tool,tools/test,$@,gotest.tools/gotestsum)
$(BENCHSTAT):
	$(call install_tool,tools/test,$@,golang.org/x/perf/cmd/benchstat)
$(CYCLONEDX):
	$(call install_tool,tools/release,$@,github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod)
$(COSIGN):
	$(call install_tool,tools/sign,$@,github.com/sigstore/cosign/v3/cmd/cosign)
$(HELM):
	$(call install_tool,test/cluster/build/helm,$@,helm.sh/helm/v4/cmd/helm)

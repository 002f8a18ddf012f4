# The test cluster: a real Kubernetes in a network namespace of its own. See test/cluster/doc.go.

export GOTOOLCHAIN = go1.27.3

CLUSTER = bin/cluster

# Release channel of the Gateway API that `make install` applies: standard or experimental.
CHANNEL ?= standard
# IP families of the cluster that `make cluster-up` starts: ipv4, ipv6 or dual. One that runs keeps its own.
FAMILY ?= ipv4
# Values of the chart that `make install` sets: SET='files.enabled=true replicas=1'.
SET ?=
# Anything here makes `make install` install the Gateway API Inference Extension too.
INFERENCE ?=

# What an operator has to enable, and the end-to-end tests use.
EVERYTHING = files.enabled=true extensions.lua.enabled=true extensions.extProc.enabled=true rateLimit.enabled=true clusterID=here

.PHONY: $(CLUSTER) cluster-up cluster-down images install install-everything kubeconfig shell

$(CLUSTER):
	@go build -C test -buildvcs=false -o ../$(CLUSTER) ./cluster

cluster-up: $(CLUSTER) ## Build what is missing and start the test cluster (FAMILY=ipv4, ipv6 or dual)
	@$(CLUSTER) up --family=$(FAMILY)

# Anything here stops every test cluster of this machine, whatever its name.
ALL ?=
cluster-down: $(CLUSTER) ## Stop the test cluster and leave nothing behind but its cache (ALL=1 for those of every name)
	@$(CLUSTER) down $(if $(ALL),--all)

images: $(CLUSTER) ## Build the images and load those that changed into the test cluster
	@$(CLUSTER) images

install: $(CLUSTER) ## Install the Gateway API and Gatewright into the test cluster
	@$(CLUSTER) install --channel=$(CHANNEL) $(addprefix --set=,$(SET)) $(if $(INFERENCE),--inference)

install-everything: ## Install with the experimental channel and all that an operator has to enable, as the end-to-end tests need it
	@$(MAKE) --no-print-directory install CHANNEL=experimental SET="$(EVERYTHING) $(SET)"

kubeconfig: $(CLUSTER) ## Print the path of the test cluster's kubeconfig
	@$(CLUSTER) kubeconfig

shell: $(CLUSTER) ## Open a shell in the test cluster's network, with kubectl and helm
	@$(CLUSTER) shell

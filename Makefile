# What developers type often. Each target is a short command; CI runs .ci/run.

SIMULATE  ?= examples/compact/cluster.yaml
FUZZTIME  ?= 30s
BENCH     ?= .
PACKAGES  ?= ./...

# The image of the Cluster API providers, and what builds images and speaks to the management cluster.
IMG       ?= ghcr.io/oaictl/oaictl:dev
CONTAINER ?= docker
KUBECTL   ?= kubectl
MANIFESTS ?= --layout apply --webhook-self-managed

export CGO_ENABLED ?= 0

# The images of the machine's side: `make image` builds those that are named.
AGENT      ?=
INSTALLER  ?=
CONTROLLER ?=

.DEFAULT_GOAL := help
.PHONY: help build test e2e race bench fuzz lint generate verify docs sim real record release-snapshot clean docker-build docker-push image image-push install uninstall deploy undeploy

help: ## show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  variables: PACKAGES=$(PACKAGES) SIMULATE=$(SIMULATE) FUZZTIME=$(FUZZTIME) BENCH=$(BENCH)"
	@echo "  of the providers: IMG=$(IMG) CONTAINER=$(CONTAINER) KUBECTL=$(KUBECTL) MANIFESTS='$(MANIFESTS)' WATCH_NAMESPACE AGENTS_NAMESPACE"

build: ## build bin/oaictl, and the plugin names beside it
	go build -trimpath -ldflags '-s -w' -o bin/oaictl ./cmd/oaictl
	ln -sf oaictl bin/kubectl-oai
	ln -sf oaictl bin/kubectl_complete-oai
	ln -sf oaictl bin/clusterctl-oai

test: ## run the tests that need only Go
	go test $(PACKAGES)

e2e: ## run the tests that need an API server, which is built the first time, or another program
	.ci/run e2e

race: ## run what has goroutines with the race detector (needs a C compiler)
	.ci/run race

bench: ## run the benchmarks of docs/performance.md
	go test -tags e2e -p 1 -timeout 4h -run '^$$' -bench '$(BENCH)' -benchmem $(PACKAGES)

fuzz: ## run every fuzz target for FUZZTIME
	@set -e; for package in $$(go list -tags e2e $(PACKAGES)); do \
		for target in $$(go test -tags e2e -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			go test -tags e2e -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

lint: ## run the linters
	$$(test/tools/tool golangci-lint) run $(PACKAGES)

generate: ## write again what is generated: schemas, the command reference, the tests' CRDs
	go generate ./...

docs: generate ## the same: docs/*.schema.json and docs/reference

verify: ## run what CI runs
	.ci/run

sim: ## install SIMULATE on the built-in simulator
	go run ./cmd/oaictl create cluster -f $(SIMULATE) --simulate --dir bin/sim

real: ## hold oaictl against the service at SERVICE, and the hub of the kubeconfig HUB (docs/conformance.md)
	@test -n "$(SERVICE)" || { echo 'make real SERVICE=URL [HUB=KUBECONFIG]: no service is named' >&2; exit 2; }
	OAICTL_REAL_SERVICE="$(SERVICE)" OAICTL_REAL_HUB="$(HUB)" go test -tags e2e -count=1 -timeout 4h -v $(if $(value RUN),-run '$(value RUN)') ./test/real

record: ## hold what oaictl writes, reads and prints against what was recorded of it (test/record)
	go test -tags e2e -count=1 -timeout 2h -parallel 4 ./test/record -args -compare

docker-build: ## build the image IMG of the Cluster API providers
	$(CONTAINER) build -f Containerfile -t $(IMG) .

docker-push: ## push the image IMG
	$(CONTAINER) push $(IMG)

image: ## build the images AGENT, INSTALLER and CONTROLLER of the machine's side (docs/host.md)
	@test -n "$(AGENT)$(INSTALLER)$(CONTROLLER)" || { echo 'make image AGENT=NAME INSTALLER=NAME CONTROLLER=NAME: no image is named' >&2; exit 2; }
	$(if $(AGENT),$(CONTAINER) build -f cmd/oaictl-host/agent.Containerfile -t $(AGENT) .)
	$(if $(INSTALLER),$(CONTAINER) build -f cmd/oaictl-host/installer.Containerfile --build-arg CONTROLLER_IMAGE=$(CONTROLLER) -t $(INSTALLER) .)
	$(if $(CONTROLLER),$(CONTAINER) build -f cmd/oaictl-host/controller.Containerfile -t $(CONTROLLER) .)

image-push: ## push the images AGENT, INSTALLER and CONTROLLER
	$(foreach name,$(AGENT) $(INSTALLER) $(CONTROLLER),$(CONTAINER) push $(name) &&) true

install: ## install the kinds of the Cluster API providers into the cluster of the kubeconfig
	go run ./cmd/oaictl controller manifests --layout kinds | $(KUBECTL) apply --server-side -f -

uninstall: ## delete those kinds, and every object of them
	go run ./cmd/oaictl controller manifests --layout kinds | $(KUBECTL) delete --ignore-not-found -f -

deploy: ## run the Cluster API providers by IMG in the cluster of the kubeconfig (MANIFESTS has the flags of `oaictl controller manifests`)
	go run ./cmd/oaictl controller manifests $(MANIFESTS) --image $(IMG) | $(KUBECTL) apply --server-side -f -

undeploy: ## delete all that deploy has made, the kinds and their objects among it
	go run ./cmd/oaictl controller manifests $(MANIFESTS) --image $(IMG) | $(KUBECTL) delete --ignore-not-found -f -

release-snapshot: ## make all that a release holds, under dist/
	.ci/run release

clean: ## remove what was built
	rm -rf bin dist

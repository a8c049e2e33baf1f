# holdshort: `make` alone lists what there is to make.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
TOOL := go tool -modfile=go.tools.mod
LINT := go tool -modfile=go.lint.mod golangci-lint
PLANE := go run ./test/plane

.PHONY: help demo test unit policy e2e differential race bench bench-peer scale soak lint fmt generate verify build plane clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## Tell the stories on a real control plane; KEEP=1 keeps it to play with
	@echo "demo: compiling the storyteller and its Kubernetes client (half a minute, once); then, once too, a control plane from source (minutes)"
	@go build -o bin/test/ ./test/demo
	@bin/test/demo $(if $(KEEP),--keep)

test: unit policy verify e2e ## Everything that must hold: code, policies, stories on a real control plane

unit: ## Vet and test the code without a cluster
	@echo "unit: compiling and testing; the first run compiles the dependencies"
	go vet ./... && go vet -tags plane ./test/...
	go test ./...

policy: ## Check, and test with OPA, the policies
	$(TOOL) opa check --strict policies/default policies/tests
	$(TOOL) opa test policies/default policies/tests
	@for readme in policies/bundles/*/README.md; do \
	  test="$$(grep -m 1 '^opa test ' "$$readme")"; check="$${test/opa test/opa check --strict}"; \
	  echo "$(TOOL) $$test"; $(TOOL) $$check && $(TOOL) $$test || exit 1; \
	done

e2e: ## Run the stories and all else that needs the control plane
	@echo "e2e: building the control plane if need be (minutes, once), then the stories (twenty minutes; they print only what fails, at the end)"
	$(PLANE) build
	go test -tags plane -count=1 -p 2 -timeout 40m ./test/e2e ./test/... # the longest first, which mostly waits

differential: ## Hold what is foreseen against the API server and the scheduler, at length
	@echo "differential: 4,000 templates and 300 clusters; half an hour"
	$(PLANE) build
	HOLDSHORT_TEMPLATES=2000 HOLDSHORT_CLUSTERS=300 go test -tags plane -count=1 -p 1 -v -timeout 90m ./test/requests ./test/placement

race: ## Test with the race detector (needs a C compiler)
	@command -v "$$(go env CC)" >/dev/null || { echo "race: no C compiler ($$(go env CC)) on this machine. Try: install gcc"; exit 1; }
	CGO_ENABLED=1 go test -race ./...

bench: ## Measure against the cheapest possible controller, and the pure core
	$(PLANE) build
	go test -run '^$$' -bench . -benchmem ./ledger/... ./policies/... ./webhook/...
	go run ./test/bench

scale: ## Play Kueue's scalability test through the plane; PART=0.1 for a tenth of it
	@echo "scale: building the control plane if need be (minutes, once), then 15,000 Jobs (minutes)"
	$(PLANE) build
	@go build -o bin/test/ ./test/scale # not go run, which calls ^C a failure
	@bin/test/scale -scale $(or $(PART),1)

bench-peer: ## Have Kueue run the same gangs on the same scattered machines; ALL=1 in three ways
	@echo "bench-peer: building the control plane and Kueue if need be (minutes, once), then 120 Jobs for each"
	$(PLANE) build
	@go build -o bin/test/ ./test/peer # not go run, which calls ^C a failure
	@bin/test/peer $(if $(ALL),-all)

soak: ## Run 2,000 Jobs on 500 nodes while others interfere; PART=0.1 for a tenth of it
	@echo "soak: building the control plane if need be (minutes, once), then a quarter of an hour"
	$(PLANE) build
	@go build -o bin/test/ ./test/soak # not go run, which calls ^C a failure
	@bin/test/soak -scale $(or $(PART),1)

lint: ## Run the linter
	@echo "lint: the first run compiles the linter, which takes minutes"
	$(LINT) run ./...

fmt: ## Format Go and Rego
	gofmt -w cmd ledger policies test webhook
	$(TOOL) opa fmt -w policies

generate: ## Make CRDs and deep copies anew from the Go types
	$(TOOL) controller-gen object crd paths=./ledger/api/... output:crd:dir=charts/holdshort/crds

verify: ## Fail if anything generated is stale, or unformatted
	@echo "verify: generating CRDs and deep copies anew, beside those in the tree"
	@made="$$(mktemp -d)"; trap 'rm -rf "$$made"' EXIT; \
	$(TOOL) controller-gen object crd paths=./ledger/api/... output:crd:dir="$$made/crds" output:object:dir="$$made/go"; \
	diff -r charts/holdshort/crds "$$made/crds" && diff ledger/api/v1alpha1/zz_generated.deepcopy.go "$$made/go/zz_generated.deepcopy.go" \
	|| { echo "verify: generated files are stale. Try: make generate, and commit"; exit 1; }
	@test -z "$$(gofmt -l cmd ledger policies test webhook)" || { gofmt -l cmd ledger policies test webhook; echo "verify: not formatted. Try: make fmt"; exit 1; }

build: ## Build the manager and the kubectl plugin into bin/
	go build -o bin/ ./cmd/...

plane: ## Start a control plane to play with, until ^C
	@echo "plane: compiling the command (half a minute, once)"
	@go build -o bin/test/ ./test/plane # not go run, which calls ^C a failure
	@bin/test/plane up

clean: ## Remove what was built here
	rm -rf bin

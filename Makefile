# Kith. `make` lists what can be made.

SHELL       := /bin/bash
.SHELLFLAGS := -o pipefail -c

GO ?= go
# Where outputs go that nobody commits.
OUT := bin
# Each fuzz target runs this long.
FUZZTIME ?= 60s
# How long `make soak` takes: random worlds of actors, and time of faults.
WORLDS ?= 10000
SOAK   ?= 1h
# Which benchmarks `make bench` runs, how often, and where; how often `make
# benchdiff` and `make bench-save` run them.
BENCH      ?= .
BENCHCOUNT ?= 1
BENCHDIRS  ?= bench
BENCHRUNS  ?= 6

# The sources may stand in somebody else's checkout, where git refuses to answer.
export GOFLAGS := $(GOFLAGS) -buildvcs=false
# Any version of git knows the commit; a tarball knows none.
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.DEFAULT_GOAL := help
.PHONY: help run build web test race check format lint fuzz bench bench-doc bench-save benchdiff golden demo soak clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build and start Kith for trying out: one process, simulated people, loopback only
	$(OUT)/kith dev

build: ## build bin/kith
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(OUT)/kith ./cmd/node

test: ## run all tests with the race detector and the services that they ask for (what CI runs)
	$(GO) run ./internal/testrun -race -- -timeout 15m ./...

race: ## run the short tests with the race detector, twice, in shuffled order
	$(GO) run ./internal/testrun -race -ci=false -- -short -shuffle on -count 2 -timeout 15m ./...

check: ## before each commit: format, vet, staticcheck, architecture, short tests
	@$(MAKE) --no-print-directory lint
	$(GO) test -short -timeout 3m ./...

lint:
	@bad=$$($(GO) tool gofumpt -l .) || exit 1; \
	if [ -n "$$bad" ]; then printf 'make format would change:\n%s\n' "$$bad"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

web: ## build the pages from web/src into web/dist, which is committed
	cd web && npm ci --no-progress && npm run build

format: ## format all Go files
	$(GO) tool gofumpt -w .

fuzz: ## run every fuzz target for FUZZTIME (60s)
	@GO='$(GO)' FUZZTIME='$(FUZZTIME)' sh scripts/fuzz.sh

bench: ## run the benchmarks (6 minutes); BENCH=regexp BENCHCOUNT=n BENCHDIRS='geo wire'
	@mkdir -p $(OUT)
	@sh scripts/machine.sh
	$(GO) test -run '^$$' -bench '$(BENCH)' $(if $(filter bench,$(BENCHDIRS)),,-benchmem) -count $(BENCHCOUNT) -timeout 120m \
		$(foreach d,$(BENCHDIRS),./$(d)/...) | tee $(OUT)/bench.txt

bench-doc: ## run the benchmarks and put their table into docs/benchmarks.md
	@KITH_BENCH_DOC='$(CURDIR)/docs/benchmarks.md' $(MAKE) --no-print-directory bench

bench-save: ## run the benchmarks BENCHRUNS (6) times and keep them as the baseline
	@$(MAKE) --no-print-directory bench BENCHCOUNT=$(BENCHRUNS)
	@mv $(OUT)/bench.txt $(OUT)/bench-baseline.txt

benchdiff: ## run the benchmarks BENCHRUNS (6) times and compare them with the baseline
	@test -f $(OUT)/bench-baseline.txt || { echo 'no baseline: run make bench-save on the commit to compare with'; exit 1; }
	@$(MAKE) --no-print-directory bench BENCHCOUNT=$(BENCHRUNS)
	$(GO) tool benchstat $(OUT)/bench-baseline.txt $(OUT)/bench.txt

golden: ## write the golden files anew; review the diff
	@dirs=$$(grep -rlE --include='*_test.go' 'flag\.Bool\("rewrite"' . | xargs -r -n1 dirname | sort -u); \
	if [ -z "$$dirs" ]; then echo 'no package has golden files'; else $(GO) test -count 1 $$dirs -rewrite; fi

demo: ## run the scenarios of the documentation end to end, and show them
	@grep -rq '^func TestDemo' cmd/node || { echo 'cmd/node has no TestDemo'; exit 1; }
	$(GO) test -count 1 -run '^TestDemo' -v ./cmd/node/...

soak: ## run the long tests: WORLDS=10000 random worlds, a million random cases, SOAK=1h of faults
	KITH_WORLDS='$(WORLDS)' $(GO) test -count 1 -run '^TestU1_.*Worlds$$' -timeout 0 ./actors/user
	$(GO) test -count 1 -timeout 0 ./geo ./presence -rapid.checks 1000000
	@if grep -rq --include='*_test.go' '^func TestSoak' .; then \
		KITH_SOAK='$(SOAK)' $(GO) test -count 1 -run '^TestSoak' -v -timeout 0 ./...; fi

clean: ## remove what was built
	rm -rf $(OUT)

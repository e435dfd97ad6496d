# Two commands are enough after cloning: `make demo` and `make test`.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO       ?= go
TOOLS    := $(CURDIR)/.cache/bin
LINT_VERSION := 2.12.2
LINT     := $(TOOLS)/golangci-lint-$(LINT_VERSION)
VULN_VERSION := 1.9.0
VULN     := $(TOOLS)/govulncheck-$(VULN_VERSION)
GORELEASER := $(TOOLS)/goreleaser-2.17.0
CYCLONEDX  := $(TOOLS)/cyclonedx-gomod-1.10.0
ACTIONLINT := $(TOOLS)/actionlint-1.7.12
SERVERS  := e2e/node_modules/.installed
FUZZTIME ?= 10s
PACKAGES ?= ./...
# The look-alike table is made from a file of the Unicode security data, where
# CONFUSABLES names one.
GENERATE := $(GO) generate $(if $(CONFUSABLES),,-skip CONFUSABLES) $(PACKAGES)

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the commands into bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/ ./cmd/...
	ln -sf agentgateway bin/agentgateway-lock
	bin/agentgateway-lock man >bin/agentgateway-lock.1

.PHONY: install
install: ## Install agentgateway, as agentgateway-lock too, where go install puts commands
	CGO_ENABLED=0 $(GO) install -trimpath -ldflags '-s -w' ./cmd/agentgateway
	dir=$$($(GO) env GOBIN); ln -sf agentgateway "$${dir:-$$($(GO) env GOPATH)/bin}/agentgateway-lock"

.PHONY: demo
demo: ## See a rug pull caught, in a temporary repository
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/ ./cmd/agentgateway
	@bin/agentgateway demo

.PHONY: test
test: $(SERVERS) ## Run every test, with the race detector and the real servers
	REAL_SERVERS_REQUIRED=1 $(GO) test -race -timeout 45m $(PACKAGES)

.PHONY: check
check: check-format check-vet check-lint check-generated check-docs check-tidy check-vulnerabilities ## Check format, lint, generated files, docs, go.mod and known vulnerabilities

.PHONY: check-format
check-format:
	@files=$$(git ls-files -co --exclude-standard '*.go' | while read -r f; do if [ -f "$$f" ]; then echo "$$f"; fi; done | xargs gofmt -l); \
	if [ -n "$$files" ]; then printf 'not formatted; run gofmt -w on:\n%s\n' "$$files"; exit 1; fi

.PHONY: check-vet
check-vet:
	$(GO) vet $(PACKAGES)

.PHONY: check-lint
check-lint: $(LINT)
	$(LINT) run $(PACKAGES)

# Generators must leave the tree as it is. The comparison is with the tree
# before, committed or not, so that it can be made while working.
.PHONY: check-generated
check-generated:
	@state() { { git status --porcelain; git diff; } | git hash-object --stdin; }; \
	before=$$(state); $(GENERATE); \
	if [ "$$before" != "$$(state)" ]; then \
		echo 'generated files were not current; commit what make generate has written:'; git status --short; exit 1; \
	fi

.PHONY: check-docs
check-docs:
	$(GO) test -count=1 ./docs

.PHONY: check-tidy
check-tidy:
	@$(GO) mod tidy -diff || { echo 'go.mod is not tidy; run go mod tidy'; exit 1; }

# What is not linked is not looked at. Status 3 is a vulnerability in code that is
# called; any other failure is a check that could not be made.
.PHONY: check-vulnerabilities
check-vulnerabilities: $(VULN)
	@status=0; out=$$($(VULN) ./cmd/agentgateway 2>&1) || status=$$?; \
	case $$status in \
		0) ;; \
		3) echo "$$out"; exit 1 ;; \
		*) echo 'known vulnerabilities were not looked up:'; echo "$$out" | tail -n 3 ;; \
	esac

.PHONY: generate
generate: ## Write the generated files again
	$(GENERATE)

# A ratio benchmark is a sub-benchmark of BenchmarkRatio that reports the unit
# "ratio"; each becomes one line, "name ratio".
.PHONY: bench
bench: $(SERVERS) ## Print the speed ratios, one "name ratio" per line
	@$(GO) test -run '^$$' -bench '^BenchmarkRatio$$' -benchtime 1x -timeout 30m $(PACKAGES) | awk ' \
		/^(FAIL|panic|---)/ { print; bad = 1 } \
		/^BenchmarkRatio\// { name = $$1; sub(/^BenchmarkRatio\//, "", name); sub(/-[0-9]+$$/, "", name); \
			for (i = 3; i <= NF; i++) if ($$i == "ratio") print name, $$(i - 1); else if ($$i == "MB/s" && name == "list-first") print name, $$(i - 1), $$i } \
		END { exit bad }'

.PHONY: bench-all
bench-all: ## Run every benchmark and show time and allocations
	$(GO) test -run '^$$' -bench . -benchmem -timeout 60m $(PACKAGES)

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (10s), also after one has failed
	@packages=$$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' $(PACKAGES)); failed=; \
	for pkg in $$packages; do \
		names=$$($(GO) test -list '^Fuzz' "$$pkg") || { echo "$$names"; failed="$$failed $$pkg"; continue; }; \
		for target in $$(grep '^Fuzz' <<<"$$names"); do \
			echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$pkg" || failed="$$failed $$pkg.$$target"; \
		done; \
	done; \
	if [ -n "$$failed" ]; then printf 'failed:\n'; printf '  %s\n' $$failed; exit 1; fi

.PHONY: soak
soak: ## Run the processor under load for several minutes
	$(GO) test -tags soak -run Soak -count=1 -timeout 30m -v ./pkg/...

.PHONY: check-workflows
check-workflows: $(ACTIONLINT) ## Lint the workflows and the action
	$(ACTIONLINT)
	@sed -n '/<!-- begin workflow -->/,/<!-- end workflow -->/p' README.md | grep -v '^<!--\|^```\|^$$' | $(ACTIONLINT) -
	@test -x .cache/zizmor/bin/zizmor || { python3 -m venv .cache/zizmor && .cache/zizmor/bin/pip install -q zizmor==1.32.0; }
	.cache/zizmor/bin/zizmor --offline --no-progress .

.PHONY: release
release: $(GORELEASER) $(CYCLONEDX) ## Build the files of a release into dist/: make release VERSION=v0.1.0
	GORELEASER=$(GORELEASER) CYCLONEDX=$(CYCLONEDX) release/release.sh "$(VERSION)"

.PHONY: release-check
release-check: $(GORELEASER) $(CYCLONEDX) ## Build a release twice, compare, install and run it
	GORELEASER=$(GORELEASER) CYCLONEDX=$(CYCLONEDX) release/check.sh "$(or $(VERSION),v0.1.0)"

.PHONY: publish-check
publish-check: ## Say what an owner has to fill in before the project is published
	@$(GO) run ./release/publishcheck

.PHONY: clean
clean: ## Remove what the other commands have made
	rm -rf bin dist .cache e2e/node_modules

# Tools come through the module system, whose checksum database vouches for them,
# and are built alike on every machine.
install_tool = GOBIN=$(TOOLS) CGO_ENABLED=0 GOFLAGS= $(GO) install -trimpath -buildvcs=false $(1) && mv $(TOOLS)/$(2) $@

# A linter of the right version that is there already is used as it is.
$(LINT):
	@mkdir -p $(TOOLS)
	@if found=$$(command -v golangci-lint) && "$$found" version 2>/dev/null | grep -qF 'version $(LINT_VERSION) '; then \
		ln -sf "$$found" $@; \
	else \
		echo 'installing golangci-lint $(LINT_VERSION); this is done once and takes some minutes'; \
		$(call install_tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION),golangci-lint); \
	fi

$(VULN):
	@$(call install_tool,golang.org/x/vuln/cmd/govulncheck@v$(VULN_VERSION),govulncheck)

$(GORELEASER):
	@echo 'installing goreleaser; this is done once and takes some minutes'
	@$(call install_tool,github.com/goreleaser/goreleaser/v2@v2.17.0,goreleaser)

$(CYCLONEDX):
	@$(call install_tool,github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0,cyclonedx-gomod)

$(ACTIONLINT):
	@$(call install_tool,github.com/rhysd/actionlint/cmd/actionlint@v1.7.12,actionlint)

$(SERVERS): e2e/package.json e2e/package-lock.json e2e/.npmrc
	@command -v npm >/dev/null || { echo 'npm is missing: the tests with real servers need Node 20 or newer'; exit 1; }
	cd e2e && npm ci --prefer-offline
	@touch $@

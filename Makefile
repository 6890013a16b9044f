# What can be made; `make` alone prints it. Everything else is in docs/ARCHITECTURE.md.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
PREFIX ?= /usr/local
DESTDIR ?=
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
# What `install` installs; packagers and tests may name another.
BINARY ?= $(TARGET_DIR)/release/tipstaff
TRIPLE = $(shell rustc -vV 2> /dev/null | sed -n 's/^host: //p')
RUNNER = CARGO_TARGET_$(shell echo '$(TRIPLE)' | tr 'a-z-' 'A-Z_')_RUNNER
# Taken literally: $(value) does not expand what looks like a make variable in the reader's line.
export RUN_LINE := $(value LINE)

.PHONY: help
help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the release binary
	$(CARGO) build --release --locked

# A workspace may not hold our own binary, and this folder is the workspace: the copy runs.
.PHONY: run
run: ## Judge, confine, ask about and run LINE='…' in this folder
	@test -n "$$RUN_LINE" || { echo "usage: make run LINE='git status && rm -rf build'" >&2; exit 2; }
	@if [ ! -e $(TARGET_DIR)/release/tipstaff ]; then \
		echo 'building tipstaff: the first time takes a minute or two' >&2; \
	fi; \
	$(CARGO) build --release --locked --quiet
	@bin="$${XDG_CACHE_HOME:-$$HOME/.cache}/tipstaff/bin"; \
	mkdir -p "$$bin"; \
	install -m 755 $(TARGET_DIR)/release/tipstaff "$$bin/tipstaff.new"; \
	mv -f "$$bin/tipstaff.new" "$$bin/tipstaff"; \
	line=$$RUN_LINE; unset RUN_LINE LINE MAKEFLAGS MAKELEVEL MAKEOVERRIDES MFLAGS; \
	exec "$$bin/tipstaff" run -c "$$line"

.PHONY: test
test: deps programs lint second ## Install what is needed and pass every test, as root and as an ordinary user
	$(CARGO) test --locked
	$(CARGO) test --locked --test oracle -- --fuzz 20
	$(MAKE) --no-print-directory test-ordinary
	$(CARGO) test --locked --test enforce -- --self-test

# `cargo test` as root has run the enforcement cases in both halves already.
.PHONY: test-ordinary
test-ordinary: # The tests of an ordinary machine again, as somebody who owns nothing
	@if [ "$$(id -u)" -eq 0 ]; then \
		env '$(RUNNER)=$(CURDIR)/integration/as-ordinary-user' $(CARGO) test --locked --lib --bins \
			$(patsubst tests/%.rs,--test %,$(wildcard tests/*.rs)) \
			$(patsubst tests/%/main.rs,--test %,$(wildcard tests/*/main.rs)); \
	else \
		echo 'skip: not started as root, so the tests were those of an ordinary user'; \
	fi

.PHONY: enforce
enforce: deps ## The enforcement tests alone, and the suite turned on itself
	$(CARGO) build --locked --example probe
	$(CARGO) test --locked --test enforce
	$(CARGO) test --locked --test enforce -- --self-test

.PHONY: oracle
oracle: deps second ## The parser against bash, dash, other parsers and hostile bytes
	$(CARGO) test --locked --test oracle

# A crate of its own: it takes minutes to build and may want a newer compiler than ours. Without it the
# tests say so and go on, but not where TIPSTAFF_EXPECT_ORACLE is set.
SECOND = integration/oracle/second
.PHONY: second
second: # The other parsers, for the oracle to ask
	@$(CARGO) build --locked --quiet --manifest-path $(SECOND)/Cargo.toml --target-dir $(SECOND)/target || \
		{ echo 'skip: the second opinions could not be built' >&2; test -z "$$TIPSTAFF_EXPECT_ORACLE"; }

# Needs nightly and cargo-fuzz; `make test` drives the same loop without either.
.PHONY: fuzz
fuzz: # The fuzz target, for ten minutes
	$(CARGO) +nightly fuzz run parse -- -max_total_time=600 -max_len=4096

.PHONY: fmt
fmt: ## Format the sources
	$(CARGO) fmt

.PHONY: lint
lint: ## Formatting and lints, warnings denied
	$(CARGO) fmt --check
	$(CARGO) fmt --check --manifest-path $(SECOND)/Cargo.toml
	$(CARGO) clippy --locked --all-targets -- -D warnings

.PHONY: deny
deny: ## Licences, sources and duplicates of the dependencies (needs cargo-deny)
	@if $(CARGO) deny --version > /dev/null 2>&1; then \
		$(CARGO) deny check; \
	else \
		echo 'skip: cargo-deny is not installed (cargo install cargo-deny)'; \
	fi

.PHONY: docs
docs: ## Build the crate's pages, warnings denied
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --no-deps

.PHONY: bench
bench: ## Measure against the budgets (needs bubblewrap; figures in docs/performance.md)
	@command -v bwrap > /dev/null || $(MAKE) --no-print-directory deps PACKAGES=bubblewrap TOOLS=bwrap
	$(CARGO) build --locked --release
	cp -f $(TARGET_DIR)/release/tipstaff $(TARGET_DIR)/release/tipstaff.installed
	$(CARGO) build --locked --release --example probe
	TIPSTAFF_BINARY='$(abspath $(TARGET_DIR))/release/tipstaff.installed' $(CARGO) bench --locked --bench budget
	$(CARGO) bench --locked --bench parse

.PHONY: check
check: lint docs deny ## Everything that runs nothing
	$(CARGO) check --locked --all-targets

.PHONY: ci
ci: ## What CI runs
	.ci/run

# Programs the tests start, and the packages of Debian that have them.
TOOLS ?= setpriv unshare setsid git bash dash find xargs
PACKAGES ?= util-linux git bash dash findutils
.PHONY: deps
deps: # Install what the tests need, when something is missing
	@missing=; for tool in $(TOOLS); do command -v $$tool > /dev/null || missing="$$missing $$tool"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	echo "missing:$$missing"; \
	if [ "$$(id -u)" -eq 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(PACKAGES); \
	else \
		echo 'install them with your package manager: $(PACKAGES)' >&2; exit 1; \
	fi

# Programs whose examples are run, and the packages of Debian that have them. What is not here is skipped,
# loudly; TIPSTAFF_EXPECT_PROGRAMS says how many have to be here.
KNOWN_TOOLS ?= strace file tree rg jq zip unzip xxd rsync curl wget hexdump column xz zstd bzip2 gawk less bc \
	ps pgrep lsof sqlite3 tmux openssl ssh-keygen python3 busybox
KNOWN_PACKAGES ?= strace file tree ripgrep jq zip unzip xxd rsync curl wget bsdextrautils xz-utils zstd bzip2 gawk \
	less bc procps lsof sqlite3 tmux openssl openssh-client python3-minimal busybox
.PHONY: programs
programs: # Install programs whose examples are run, when some are missing
	@missing=; for tool in $(KNOWN_TOOLS); do command -v $$tool > /dev/null || missing="$$missing $$tool"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	echo "missing, so that their examples cannot be run:$$missing"; \
	if [ "$$(id -u)" -eq 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			$(KNOWN_PACKAGES) > /dev/null || echo 'skip: they cannot be installed here'; \
	else \
		echo 'skip: install them with your package manager: $(KNOWN_PACKAGES)'; \
	fi

.PHONY: watched
watched: deps programs ## The examples of the program knowledge, run and watched, and lines compared with bash
	$(CARGO) build --locked --example probe
	$(CARGO) test --locked --test watched

BIN = $(DESTDIR)$(PREFIX)/bin
MAN = $(DESTDIR)$(PREFIX)/share/man/man1
DOC = $(DESTDIR)$(PREFIX)/share/doc/tipstaff
# Folders are kept, so that the links between the pages hold.
PAGES = $(wildcard LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md docs/*.md docs/*.schema.json integration/README.md \
	policies/*.md policies/*.toml)
MANUAL = $(wildcard docs/tipstaff.1)

$(TARGET_DIR)/release/tipstaff: build

.PHONY: install
install: $(BINARY) ## Install under DESTDIR and PREFIX (/usr/local)
	install -d $(BIN) $(DOC)
	install -m 755 $(BINARY) $(BIN)/tipstaff
	for page in $(PAGES); do install -D -m 644 "$$page" "$(DOC)/$$page"; done
	$(if $(MANUAL),install -d $(MAN) && install -m 644 $(MANUAL) $(MAN))

# Folders that became empty go too, but never one above DESTDIR, and without DESTDIR only our own.
.PHONY: uninstall
uninstall: ## Remove what install put there
	rm -f $(BIN)/tipstaff $(MAN)/tipstaff.1
	rm -rf $(DOC)
	@if [ -n '$(DESTDIR)' ]; then \
		cd '$(DESTDIR)' && for folder in bin share/man/man1 share/doc; do \
			folder='$(patsubst /%,%,$(PREFIX))'/$$folder; \
			if [ -d "$$folder" ]; then rmdir -p --ignore-fail-on-non-empty "$$folder"; fi; \
		done; \
	fi

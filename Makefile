# The commands for developers. Builds are cached outside the checkout.

XDG_CACHE_HOME ?= $(HOME)/.cache
CARGO_TARGET_DIR ?= $(XDG_CACHE_HOME)/sandpiper/target
export CARGO_TARGET_DIR

# The explicit target is that of .cargo/config.toml.
built = $(CARGO_TARGET_DIR)/$(shell rustc -vV | sed -n 's/^host: //p')
binary = $(built)/release/sandpiper
quick = $(built)/quick/sandpiper

.PHONY: help run test test-all check build images lint bench soak fuzz screenshots clean setup web \
	deb container test-vm test-fleet

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 13

run: build ## install missing packages, build, and serve on port 8080
	@scripts/run $(binary)

test: web ## build images, lint, and test each promise once
	@scripts/test

test-all: web ## run every test in every way, the virtual machine included
	@FULL=1 scripts/test

check: setup ## lint, and run the tests that need no images
	@scripts/check

web: setup ## build the editor page, which the binary embeds
	@scripts/web

build: web ## build the release binary
	cargo build --release --package sandpiper

images: build ## build the missing images
	$(binary) images build

lint: setup ## check format, lints and licences
	@scripts/lint

deb: build ## build the Debian package, in this folder
	@scripts/deb $(binary) .

container: build ## build the container image localhost/sandpiper, with podman
	@scripts/container $(binary)

test-vm: web ## test the package and a container in an emulated Debian 13 (or VM=version-1)
	cargo build --profile quick --package sandpiper
	$(quick) images build
	@scripts/test-vm $(quick) $(VM)

test-fleet: web ## test several nodes behind balancers, with every part killed
	@scripts/test-fleet

bench: build ## measure against other ways to do the same, and under overload
	$(binary) images build --languages all
	@scripts/setup-bench
	@status=0; for name in performance overload; do \
	    scripts/figures $$name timeout 5h cargo bench --package sandpiper --bench $$name || status=1; \
	done; exit $$status

SOAK_MINUTES ?= 30
soak: build ## run all languages and attacks for SOAK_MINUTES=30; check for leaks
	$(binary) images build --languages all
	@scripts/figures soak cargo bench --package sandpiper --bench overload -- \
	    --step=soak --minutes $(SOAK_MINUTES)

fuzz: web ## fuzz every parser, each for FUZZ_SECONDS=30
	@scripts/fuzz

screenshots: images ## take pictures of the editor in every language and theme
	@scripts/screenshots $(binary)

clean: ## remove builds, but not images (`sandpiper images remove` does)
	cargo clean

setup:
	@scripts/setup

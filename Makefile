# What people type. Builds are cached outside of the checkout, by content.

XDG_CACHE_HOME ?= $(HOME)/.cache
CARGO_TARGET_DIR ?= $(XDG_CACHE_HOME)/sandpiper/target
export CARGO_TARGET_DIR

# The explicit target is that of .cargo/config.toml.
built = $(CARGO_TARGET_DIR)/$(shell rustc -vV | sed -n 's/^host: //p')
binary = $(built)/release/sandpiper
quick = $(built)/quick/sandpiper

.PHONY: help run test test-all check build images lint bench soak fuzz screenshots clean setup web \
	deb container test-vm

help: ## say what there is
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 13

run: build ## install what is missing, build, and serve on port 8080
	@scripts/run $(binary)

test: web ## lints, images, and each promise tested once
	@scripts/test

test-all: web ## everything there is, in every way, the virtual machine too
	@FULL=1 scripts/test

check: web ## the quick loop: no images, no root
	@scripts/check

web: setup ## the editor page, which the binary embeds
	@scripts/web

build: web ## the release binary
	cargo build --release --package sandpiper

images: build ## the images that are missing
	$(binary) images build

lint: web ## format, lints and licences
	@scripts/lint

deb: build ## the Debian package, in this folder
	@scripts/deb $(binary) .

container: build ## the container image localhost/sandpiper, with podman
	@scripts/container $(binary)

test-vm: web ## the package, the walls and a container, in an emulated Debian 13
	cargo build --profile quick --package sandpiper
	$(quick) images build
	@scripts/test-vm $(quick)

bench: images ## measurements against other ways to do the same, and of overload
	@scripts/setup-bench
	@status=0; for name in performance overload; do \
	    scripts/figures $$name timeout 3h cargo bench --package sandpiper --bench $$name || status=1; \
	done; exit $$status

SOAK_MINUTES ?= 30
soak: images ## all languages and attacks for SOAK_MINUTES=30: does the server grow
	@scripts/figures soak scripts/soak $(binary) $(SOAK_MINUTES)

fuzz: web ## odd input for all that reads input, FUZZ_SECONDS=30 for each target
	@scripts/fuzz

screenshots: images ## pictures of the editor page, in every language and theme
	@scripts/screenshots $(binary)

clean: ## remove what was built; images stay (sandpiper images remove)
	cargo clean

setup:
	@scripts/setup

# Every task of the project, by one name. `make help` lists them. `.ci/run` is made of the same steps.
#
# NAME, PROOF, ONLY and SECONDS narrow a task down, for instance:
#   make test NAME=BackupHistory        make proof PROOF=random ONLY='seed 7 with everything.'

SHELL := /bin/bash
FLAGS := -Xswiftc -warnings-as-errors
SWIFT_TESTING := --enable-swift-testing --disable-xctest
TESTS ?= --scratch-path .build/tests --disable-index-store $(FLAGS)
# What runs in release. A run of everything sets `DIVAN_BUILD`, so that programs, tests and proofs share a build.
DIVAN_BUILD ?= -c release $(FLAGS)
RELEASE := swift run $(DIVAN_BUILD)
NAME ?= .
PROOF ?= rules
ONLY ?=
SECONDS ?= 60

# Tests of asynchronous calls wait for a time for what they expect, so few may run at once. What they test is
# optimized, with all checks: compiling takes a little longer, and running a sixth of the time. `DIVAN_OPTIMIZE=`
# makes it easier to debug.
# Not for the thread sanitizer: optimized code has parts of the standard library in it, which the sanitizer then
# watches, without the reference counts by which an array knows that nothing else reads its elements.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 2
tests test check build checks docs api: export DIVAN_OPTIMIZE ?= 1
# Tests/EntryPoint says why no index is made.
tests test check build docs api: export DIVAN_NO_INDEX ?= 1

.PHONY: help format lint systems build check test tests proof proofs bugs threads checks fuzz fuzzers interop programs builds report benchmarks docs api ci server

help: ## lists the tasks
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /|/' | awk -F'|' '{ printf "  make %-12s %s\n", $$1, $$2 }'

format: ## formats all sources
	swift format --in-place --recursive Package.swift Sources Tests Benchmarks Examples Integrations

lint: ## checks the format and changes nothing
	swift format lint --strict --recursive Package.swift Sources Tests Benchmarks Examples Integrations

systems: ## type-checks the log for macOS, musl and Android, and the SwiftUI layer
	Tests/other-systems

build: ## builds everything for debugging, tests included
	swift build --build-tests $(TESTS)

check: lint ## the quick check before a commit: format, layers, build, the tests that take little time
	.ci/quick

test: ## tests whose names match NAME, a regular expression
	swift test $(SWIFT_TESTING) $(TESTS) --filter '$(NAME)'

# `swift test` would build with flags of its own, and whatever is run next would be built again.
tests: ## all tests
	swift build --build-tests $(TESTS)
	nice -n 5 swift test --skip-build $(SWIFT_TESTING) $(TESTS)

threads: ## tests of concurrency under the thread sanitizer
	DIVAN_OPTIMIZE= DIVAN_THREADS=1 DIVAN_NO_INDEX=1 nice -n 5 swift test --scratch-path .build/thread \
	  --disable-index-store $(SWIFT_TESTING) --sanitize=thread -Xswiftc -DDIVAN_THREAD_SANITIZER $(THREAD_FLAGS)

checks: ## all tests, with the invariants of trees checked after each change
	swift test --scratch-path .build/checks $(FLAGS) -Xswiftc -DDIVAN_INTERNAL_CHECKS

proof: ## one suite of proofs: PROOF=crash; ONLY='seed 7' for one run
	$(RELEASE) Proofs ci $(PROOF) $(if $(ONLY),--only '$(ONLY)')

proofs: ## all proofs, with the budget of a change that lands
	nice -n 10 Tests/prove ci proofs

bugs: ## each planted bug must be noticed, with the internal checks on
	Tests/prove ci bugs

report: ## the page of `logdump report` in Chromium, if that is installed
	Tests/report-screenshot

fuzzers: ## all fuzzers, with the budget and the seed of a change that lands
	Tests/prove ci fuzzers

fuzz: ## each fuzzer for SECONDS, with a new seed
	Tests/fuzz $(SECONDS)

interop: ## replicates with PouchDB in node, if both are there
	Tests/pouchdb

programs: ## builds and runs the programs in release, as the documents say
	.ci/programs

builds: ## builds the copy with planted bugs, for the tasks that run it and the fuzzers
	Tests/prove build

server: ## builds the server of Integrations/Server, and runs its tests, with PouchDB if it is there
	cd Integrations/Server && swift test && Tests/pouchdb

benchmarks: ## what Divan's work costs; see Benchmarks/README.md
	swift run -c release $(FLAGS) Benchmarks

docs: ## builds the documentation and fails on broken references
	.ci/docs

api: ## records the public API in docs/api, after a change that the changelog describes
	.ci/docs update

ci: ## everything that has to hold before a change lands
	.ci/run

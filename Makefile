# What a person needs: make run, make check. What a machine needs: make test.
# Everything goes into bin/ and .cache/; make clean removes both.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := check
MAKEFLAGS += --no-print-directory

# Without a home, the Go caches have no place of their own.
ifeq ($(strip $(HOME)),)
export GOPATH ?= $(CURDIR)/.cache/go
export GOCACHE ?= $(CURDIR)/.cache/go-build
endif

# A clone that git distrusts (made by another user) builds without its revision.
ifneq ($(shell git rev-parse HEAD >/dev/null 2>&1 && echo trusted),trusted)
export GOFLAGS := $(GOFLAGS) -buildvcs=false
endif

TOOL   := go tool -modfile=tools/tools.mod
SOURCE := cmd internal bench
DEMO   ?= .cache/demo
ARGS   ?=

# Enumerations of other people have members that are none of our business.
FOREIGN := ^(reflect|go/|golang\.org/|net/|os|io/|syscall|encoding/|image/|github\.com/)

.PHONY: shim build run check test long smoke bench clean format lint cross unit race perm browser images tools s3

# The program that watches over work on a box. It is embedded, so all that compiles
# comes after it.
shim:
	scripts/build-shim

# Without cgo: one static file, which also starts faster.
build: shim
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

# The desk on a home with a few booths: make run ARGS='--listen 127.0.0.1:0'.
run: build
	@exec scripts/run $(DEMO) $(ARGS)

# The quick loop: under two minutes once the caches are warm.
check: lint cross unit

# Everything. Go's own summary comes last.
test: shim tools lint cross race perm smoke
	go test -count=1 -timeout 20m -tags browser $$(go list ./... | grep -vxFf <($(RACED) | grep -v browsertest))

# What takes minutes: each fuzz test, archives over 4 GiB, the plan through many
# faulty remotes and under many writers, processes killed at every step of a run and a
# stop, and the tests of what crashes again and again.
long: shim s3
	scripts/fuzz 30s
	go test -tags long -timeout 20m -run Long ./internal/roadmap/carrier
	go test -tags long -run 4GiB ./internal/booth/folder
	go test -tags long -timeout 20m -run 'Long|AStore' ./internal/bucket/... ./internal/fleet/rosterstore
	go test -tags long -timeout 20m ./internal/fleet/crashtest
	go test -count=20 ./internal/durable ./internal/canon

smoke: build
	scripts/smoke

bench: shim
	go run ./bench

clean:
	rm -rf bin .cache node_modules

# --- the parts ---

format:
	$(TOOL) gofumpt -w $(SOURCE)

lint: shim
	@unformatted=$$($(TOOL) gofumpt -l $(SOURCE)); \
		test -z "$$unformatted" || { echo "not formatted (make format):" $$unformatted >&2; exit 1; }
	go vet ./...
	go vet -tags browser,perm,long ./...
	$(TOOL) staticcheck -tags browser,perm,long ./...
	$(TOOL) exhaustive -typeignore '$(FOREIGN)' ./...
	$(TOOL) go-check-sumtype -default-signifies-exhaustive=false ./...
	@dead=$$($(TOOL) deadcode -test -tags browser,perm,long ./...); \
		test -z "$$dead" || { echo "$$dead" >&2; exit 1; }

cross: shim
	GOOS=linux GOARCH=amd64 go build ./...
	GOOS=linux GOARCH=arm64 go build ./...
	GOOS=darwin GOARCH=arm64 go build ./...

unit: shim s3
	go test ./...

# The packages that start goroutines, in their code or in their tests. Each test is
# run once: theirs under the race detector, all others without. Of cli it is only the
# tests that start some themselves: its scripts start the program hundreds of times,
# which is slow under the detector, and what it is made of is raced on its own. A
# bucket in a folder is raced by the suite of all stores alone, for the same reason.
RACED = grep -rlE '^\s*go |\.Go\(' --include='*.go' $(SOURCE) | xargs -n1 dirname | sort -u | sed 's,^,holdfast/,' | grep -vx holdfast/internal/cli

race: shim s3
	go test -race -timeout 20m $$($(RACED))
	go test -race -run Agent ./internal/cli
	go test -race -run AStore ./internal/bucket/dirbucket

# What root is allowed proves nothing: these tests fail at uid 0.
perm: shim
	scripts/test-perm

browser: shim
	go test -count=1 -timeout 20m -tags browser ./internal/browsertest

# The pictures in docs/images, from the running program.
images: shim
	HOLDFAST_README_IMAGES=$(CURDIR)/docs/images go test -count=1 -tags browser -run Readme ./internal/browsertest

tools: s3
	scripts/install-test-tools

# The S3 server that the tests of the object store talk to.
s3:
	scripts/install-s3

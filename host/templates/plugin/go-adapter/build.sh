#!/bin/sh
# Builds build/plugin.wasm: a core module, which `leadhost` makes a component of.
set -eu
cd "$(dirname "$0")"
mkdir -p build
# The runtime of the bindings uses a function of Go's own runtime: -checklinkname=0. The names of
# functions stay in the module, so that the message of a crash names yours.
GOOS=wasip1 GOARCH=wasm GOPROXY=off go build -trimpath -buildmode=c-shared \
    -ldflags="-checklinkname=0" -o build/plugin.wasm ./plugin

#!/bin/sh
# Builds build/plugin.wasm: a core module, which `leadhost` makes a component of.
# `sh build.sh test` runs the unit tests on this machine instead.
set -eu
cd "$(dirname "$0")"
zig=zig
if ! command -v zig >/dev/null; then
    # The package `ziglang` of Python brings the compiler without a program `zig`.
    zig="python3 -m ziglang"
fi
if [ "${1:-}" = test ]; then
    exec $zig test src/test.zig
fi
mkdir -p build
# The compiler itself, and not `zig build`, which first compiles its own build runner. The
# functions of the contract take the place of a `main`. ReleaseSafe: a mistake is a crash that
# the host reports, and not a wrong lead; ReleaseSmall halves the size and the time to build.
$zig build-obj src/converter.zig -target wasm32-freestanding -OReleaseSafe -fno-strip \
    -fcompiler-rt -femit-bin=build/plugin.o
# The names of functions stay in the module, so that the message of a crash names yours.
exec $zig wasm-ld --no-entry --export-dynamic --strip-debug -z stack-size=262144 \
    --import-undefined build/plugin.o -o build/plugin.wasm

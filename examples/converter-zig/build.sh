#!/bin/sh
# `sh build.sh CONTRACT` generates build/bindings from the contract's file, whose path is from this
# folder, and writes build/plugin.wasm: a core module, which `leadhost` makes a component of.
# Without CONTRACT it takes the bindings that are there.
set -eu
cd "$(dirname "$0")"
bindings=build/bindings
if [ $# -gt 0 ]; then
    wit-bindgen c "$1" --out-dir $bindings
fi
zig=zig
if ! command -v zig >/dev/null; then
    # The package `ziglang` of Python brings the compiler without a program `zig`.
    zig="python3 -m ziglang"
fi
$zig translate-c $bindings/lead_converter.h -target wasm32-wasi -lc >$bindings/contract.zig
# The compiler itself, and not `zig build`, which first compiles its own build runner. ReleaseSafe: a
# mistake is a crash that the host reports, and not a wrong lead. Memory begins small, because each
# call has a fresh instance.
exec $zig build-exe -target wasm32-wasi -mexec-model=reactor -lc -OReleaseSafe -fstrip --stack 262144 \
    $bindings/lead_converter.c $bindings/lead_converter_component_type.o \
    --dep contract -Mroot=src/converter.zig -Mcontract=$bindings/contract.zig -femit-bin=build/plugin.wasm

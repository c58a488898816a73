#!/bin/sh
# `sh build.sh CONTRACT` generates build/bindings from the contract's file, whose path is from this
# folder, and writes build/plugin.wasm: a core module, which `leadhost` makes a component of.
# Without CONTRACT it takes the bindings that are there.
set -eu
cd "$(dirname "$0")"
if [ $# -gt 0 ]; then
    wit-bindgen c "$1" --out-dir build/bindings
fi
# Each call has a fresh instance: its memory begins with one megabyte, so that few calls have to
# grow it. A stack that overflows is a trap.
"${CLANG:-clang}" --target=wasm32-wasi -mexec-model=reactor -Os -std=c11 \
    -Wall -Wextra -Werror=incompatible-pointer-types -Ibuild/bindings \
    src/*.c build/bindings/lead_converter.c build/bindings/lead_converter_component_type.o \
    -Wl,--strip-debug,--stack-first,--initial-memory=1048576 -o build/plugin.wasm

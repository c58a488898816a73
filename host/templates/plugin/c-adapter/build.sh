#!/bin/sh
# Builds build/plugin.wasm: a core module, which `leadhost` makes a component of.
# `sh build.sh test` builds and runs the unit tests on this machine instead.
set -eu
cd "$(dirname "$0")"
if [ -z "${CLANG:-}" ]; then
    for CLANG in clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19; do
        if command -v "$CLANG" >/dev/null; then break; fi
    done
fi
# A pointer of another type, such as the fields of a form in place of the form, is an error.
warnings="-std=c11 -Wall -Wextra -Werror=incompatible-pointer-types"
mkdir -p build
if [ "${1:-}" = test ]; then
    "$CLANG" $warnings -g ${CFLAGS:-} test/test.c src/*.c leadhost/*.c -o build/test
    exec build/test
fi
# Every call has a fresh instance: its memory begins with one megabyte, so that few calls
# have to grow it. A stack that overflows is a trap.
"$CLANG" --target=wasm32-wasi -mexec-model=reactor -Os $warnings \
    src/*.c leadhost/*.c bindings/channel_adapter.c bindings/channel_adapter_component_type.o \
    -Wl,--strip-debug,--stack-first,--initial-memory=1048576 -o build/plugin.wasm

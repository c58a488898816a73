"""Builds build/plugin.wasm from converter.py or adapter.py: CPython with the source and all modules
that it imports inside, initialised at build time, so that a call does not pay for the start. Writes the
types of the contract to build/bindings, for editors and type checkers.

It is apart from the SDK, which only a component can import."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

WORLDS = {"converter": "lead-converter", "adapter": "channel-adapter"}
BINDINGS = "build/bindings"


def main() -> None:
    kind = sys.argv[1] if len(sys.argv) == 2 else ""
    if kind not in WORLDS:
        sys.exit("usage: leadhost-build converter|adapter, in the folder of the project")
    if not os.path.exists(f"{kind}.py"):
        sys.exit(f"{kind}.py is not in this folder: run leadhost-build in the folder of the project")
    shutil.rmtree(BINDINGS, ignore_errors=True)
    os.makedirs("build", exist_ok=True)
    run(kind, ["bindings", BINDINGS])
    run(kind, ["componentize", kind, "--output", "build/plugin.wasm"])


def run(kind: str, command: list[str]) -> None:
    """Ends the build if componentize-py fails: it has said why."""
    program = pathlib.Path(sysconfig.get_path("scripts"), "componentize-py")
    contract = pathlib.Path(__file__).with_name(f"leadhost-{kind}-1.0.0.wit")
    options = ["--quiet", "--wit-path", contract, "--world", WORLDS[kind]]
    # It also finds the packages of this environment, and with its name only those. Its own stack says
    # nothing about the plugin.
    environment = os.environ | {"VIRTUAL_ENV": sys.prefix, "RUST_BACKTRACE": "0"}
    done = subprocess.run([program, *options, *command], env=environment)
    if done.returncode != 0:
        sys.exit(done.returncode)

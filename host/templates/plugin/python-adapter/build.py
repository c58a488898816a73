"""Builds build/plugin.wasm from adapter.py: CPython with the source inside, initialised
at build time, so that a call does not pay for the start. The tools are installed into
.leadhost-tools, and again only when requirements.txt has changed."""

import os
import pathlib
import subprocess
import venv

here = pathlib.Path(__file__).parent
tools = here / ".leadhost-tools"
programs = tools / ("Scripts" if os.name == "nt" else "bin")
wanted = (here / "requirements.txt").read_text()
installed = tools / "installed.txt"

if not installed.exists() or installed.read_text() != wanted:
    venv.create(tools, clear=True, with_pip=True)
    pip = [programs / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--require-hashes", "-r", here / "requirements.txt"], check=True)
    installed.write_text(wanted)

(here / "build").mkdir(exist_ok=True)
contract = ["--wit-path", "wit/leadhost-adapter-1.0.0.wit", "--world", "channel-adapter"]
component = ["componentize", "adapter", "--output", "build/plugin.wasm"]
subprocess.run([programs / "componentize-py", *contract, *component], check=True, cwd=here)

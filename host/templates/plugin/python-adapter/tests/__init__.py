"""Runs with `python3 -m unittest discover -t . tests`."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "bindings"))

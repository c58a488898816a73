"""What a plugin of Leadhost needs beside the language: the body of a delivery as a tree, values by
their paths, and the records of a converter. What an adapter needs is in `leadhost_sdk.adapter`.

In a component, the build makes `wit_world`, the types of the contract, with the types of one kind of
plugin alone: `build/bindings` has them for editors, type checkers and tests.
"""

from wit_world import exports

from .reading import *

if hasattr(exports, "Converter"):
    from .converter import *

"""Stands in for `wit_world`, which the build of a plugin makes: the records and variants of the
published contracts as dataclasses, so that the tests need nothing but Python."""

import dataclasses
import pathlib
import re
import sys
import types

PUBLISHED = pathlib.Path(__file__).parents[3] / "wit" / "published"


class Err(Exception):
    def __init__(self, value):
        super().__init__(value)
        self.value = value

    def __class_getitem__(cls, item):
        return cls


def _module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)
    return sys.modules[name]


def _types(contract, interface):
    """Returns the types of an interface as componentize-py names them."""
    text = re.sub("//.*", "", (PUBLISHED / contract).read_text())
    text = re.search(rf"interface {interface} {{(.*?)\n *}}\n(?=\nworld|}})", text, re.S)[1]
    found = {}
    for kind, name, body in re.findall(r"(record|variant) ([a-z-]+) {(.*?)}", text, re.S):
        name = "".join(word.capitalize() for word in name.split("-"))
        if kind == "record":
            fields = [field.replace("-", "_") for field in re.findall(r"([a-z-]+): ", body)]
            found[name] = dataclasses.make_dataclass(name, fields)
            continue
        cases = re.findall(r"([a-z-]+)(\(.*\))?,", body)
        for case, value in cases:
            case = f"{name}_{''.join(word.capitalize() for word in case.split('-'))}"
            found[case] = dataclasses.make_dataclass(case, ["value"] if value else [])
        found[name] = object
    return found


CONVERTER, ADAPTER = "leadhost-converter-1.0.0.wit", "leadhost-adapter-1.0.0.wit"
core = _module("wit_world.imports.core", **_types(CONVERTER, "core"))
converter = _module("wit_world.exports.converter", **_types(CONVERTER, "converter"))
adapter = _module("wit_world.exports.adapter", **_types(ADAPTER, "adapter"))
imports = _module("wit_world.imports", core=core)
functions = {"Converter": object, "Adapter": object, "converter": converter, "adapter": adapter}
exports = _module("wit_world.exports", **functions)
_module("wit_world", imports=imports, exports=exports)
_module("componentize_py_types", Err=Err)

"""Does not end, as the body says."""

from typing import Any

import leadhost_sdk as sdk


class Converter(sdk.Converter):
    def describe(self) -> sdk.Description:
        return sdk.description("sample-converter-python", "1.0.0", "Does not end")

    def convert(self, delivery: sdk.Delivery) -> sdk.Conversion:
        what = sdk.text(sdk.parse(delivery), "do")
        ends: dict[Any, Any] = {"spin": spin, "descend": lambda: descend(1), "fill": fill}
        return sdk.conversion([sdk.lead(name=str(ends[what]() if what in ends else 0))])


def spin() -> None:
    rounds = 0
    while True:
        rounds += 1


def descend(depth: int) -> int:
    return descend(depth + 1) + 1


def fill() -> int:
    return len([str(number) * (1 << 20) for number in range(1024)])

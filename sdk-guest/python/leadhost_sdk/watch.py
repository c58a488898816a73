"""Names the function of a loop that does not end: the host ends the call without asking Python, so the log has
to say it before."""

import os
import sys
from types import CodeType
from typing import Any

_TOOL = 4
_OWN = os.path.dirname(__file__)

# Rounds of the loops of one call before a line of the log names the loop: some tenths of a second.
ROUNDS = 1 << 17
_rounds = 0


def begin() -> None:
    """Counts the rounds of a call from here. The Python of a component can; an older one, in tests, cannot."""
    global _rounds
    _rounds = 0
    if sys.version_info >= (3, 12):
        if sys.monitoring.get_tool(_TOOL) is None:
            sys.monitoring.use_tool_id(_TOOL, "leadhost")
            sys.monitoring.register_callback(_TOOL, sys.monitoring.events.JUMP, _jump)
        sys.monitoring.set_events(_TOOL, sys.monitoring.events.JUMP)


if sys.version_info >= (3, 12):

    def _jump(code: CodeType, offset: int, destination: int) -> Any:
        global _rounds
        if destination > offset or code.co_filename.startswith(_OWN):
            return sys.monitoring.DISABLE
        _rounds += 1
        if _rounds == ROUNDS:
            sys.monitoring.set_events(_TOOL, sys.monitoring.events.NO_EVENTS)
            name = os.path.basename(code.co_filename)
            where = f'{code.co_name}, File "{name}", line {line_at(code, offset)}'
            print(f"{ROUNDS} rounds of loops so far, now in {where}", file=sys.stderr, flush=True)
        return None


def line_at(code: CodeType, offset: int) -> int:
    """Returns the line of an instruction."""
    lines = (line for begin, end, line in code.co_lines() if begin <= offset < end)
    return next(lines, None) or code.co_firstlineno

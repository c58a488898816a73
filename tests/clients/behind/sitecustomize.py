"""Python runs this when it starts with this folder on its path: the clock of the process
is an hour behind and runs normally."""

import time

import time_machine

time_machine.travel(time.time() - 3600, tick=True).start()

"""The clients, each run as a user runs it: a fresh copy of the example's folder, its own
environment, its own state. `pull` runs it once, `rows` returns the rows that it has so far.
"""

import ast
import collections
import json
import os
import pathlib
import shutil
import subprocess
from datetime import datetime, timedelta, timezone

from service import ENTITIES, ERRORS

HERE = pathlib.Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "clients"
# A client that hangs is a failure; no pull here takes this long.
LONGEST_SECONDS = 240
# How far back failed messages are requested: three windows.
ERRORS_REACH = timedelta(days=70)


class Failed(Exception):
    """A client that failed."""


class Client:
    streams = (*ENTITIES, ERRORS)
    # Whether its process uses the clock that the test sets.
    has_clock = True

    def __init__(self, environment, workspace, folder):
        self.programs = pathlib.Path(environment) / "bin"
        self.folder = folder / self.name
        self.log = folder / f"{self.name}.log"
        since = datetime.now(timezone.utc) - ERRORS_REACH
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LEADHOST_URL": workspace.url,
            "LEADHOST_WORKSPACE_KEY": workspace.key,
            "LEADHOST_ERRORS_SINCE": since.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUTF8": "1",
        }
        shutil.copytree(EXAMPLES / self.name, self.folder)

    def run(self, program, *arguments, behind=False):
        """The standard output of a program of its environment; the rest is in its log."""
        command = [self.programs / program, *arguments]
        environment = dict(self.environment)
        if behind:
            environment["PYTHONPATH"] = str(HERE / "behind")
        with self.log.open("a") as log:
            print("$", *command, file=log, flush=True)
            try:
                done = subprocess.run(
                    command,
                    cwd=self.folder,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    timeout=LONGEST_SECONDS,
                )
            except subprocess.TimeoutExpired:
                raise Failed(f"{self.name} hangs, see {self.log}") from None
        if done.returncode != 0:
            raise Failed(f"{self.name} exited with {done.returncode}, see {self.log}")
        return done.stdout

    def clock(self, **how):
        """The time that the client's programs see."""
        return float(self.run("python", "-c", "import time; print(time.time())", **how))


class Lines(Client):
    """A client whose rows are in files of lines; the last line of an id counts."""

    out = "out"

    def files(self):
        for stream in self.streams:
            path = self.folder / self.out / f"{stream}.jsonl"
            lines = path.read_text().splitlines() if path.exists() else []
            yield stream, [json.loads(line) for line in lines]

    def rows(self):
        return {stream: {row["id"]: row for row in rows} for stream, rows in self.files()}

    def pull(self, **how):
        before = {stream: len(rows) for stream, rows in self.files()}
        self.work(**how)
        return {stream: len(rows) - before[stream] for stream, rows in self.files()}


class Airbyte(Lines):
    name = "airbyte"

    def work(self, **how):
        self.run("python", "pull.py", **how)


class Singer(Lines):
    """With a target of three lines, which keeps rows and state."""

    name = "singer"

    def work(self, **how):
        for name in ("LEADHOST_URL", "LEADHOST_WORKSPACE_KEY", "LEADHOST_ERRORS_SINCE"):
            self.environment[f"TAP_{name}"] = self.environment[name]
        state = self.folder / "state.json"
        told = ["--state", state] if state.exists() else []
        said = self.run("python", "tap_leadhost.py", "--config=ENV", *told, **how)
        (self.folder / self.out).mkdir(exist_ok=True)
        for message in map(json.loads, said.splitlines()):
            if message["type"] == "RECORD":
                with (self.folder / self.out / f"{message['stream']}.jsonl").open("a") as file:
                    file.write(json.dumps(message["record"]) + "\n")
            elif message["type"] == "STATE":
                state.write_text(json.dumps(message["value"]))


class Meltano(Lines):
    """The project is installed once; its database and output are this client's own."""

    name = "meltano"
    out = "output"
    streams = ENTITIES
    # Its plugins have environments of their own, which the clock does not reach.
    has_clock = False

    def __init__(self, environment, workspace, folder):
        super().__init__(environment, workspace, folder)
        self.environment |= {
            "MELTANO_PROJECT_ROOT": str(pathlib.Path(environment).parent / "meltano-project"),
            "MELTANO_DATABASE_URI": f"sqlite:///{self.folder}/meltano.db",
            "TARGET_JSONL_DESTINATION_PATH": str(self.folder / self.out),
        }

    def work(self, **how):
        self.run("meltano", "run", "tap-rest-api-msdk", "target-jsonl", **how)

    def rows(self):
        """Its tap keeps objects as texts."""
        for_all = super().rows()
        for rows in for_all.values():
            for row in rows.values():
                for name in ("props", "metadata"):
                    if name in row:
                        row[name] = json.loads(row[name])
        return for_all


class Dlt(Client):
    name = "dlt"

    def __init__(self, environment, workspace, folder):
        super().__init__(environment, workspace, folder)
        self.environment["DLT_DATA_DIR"] = str(self.folder / "data")

    def pull(self, **how):
        said = self.run("python", "leadhost.py", **how)
        # Its last line is the count.
        counts = ast.literal_eval(said.splitlines()[-1])
        return {stream: counts.get(stream, 0) for stream in self.streams}

    def rows(self):
        said = self.run("python", HERE / "duckdb_rows.py", "leadhost.duckdb", *self.streams)
        rows = collections.defaultdict(dict)
        for line in said.splitlines():
            stream, row = json.loads(line)
            rows[stream][row["id"]] = row
        return {stream: rows[stream] for stream in self.streams}


ALL = (Airbyte, Dlt, Meltano, Singer)

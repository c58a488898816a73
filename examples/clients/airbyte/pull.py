"""One pull with the Airbyte manifest, without Airbyte's platform.

    LEADHOST_URL=... LEADHOST_WORKSPACE_KEY=mk_... python pull.py [FOLDER]

Rows go to FOLDER/{stream}.jsonl in the order in which they come: of the same id the last
one counts. FOLDER/state.json has the connector's state, written after the rows it covers.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from datetime import datetime, timezone

import yaml

MANIFEST = pathlib.Path(__file__).parent / "manifest.yaml"
STAMP = "%Y-%m-%dT%H:%M:%S.%fZ"


def declared():
    """The columns of each stream of the manifest."""
    streams = yaml.safe_load(MANIFEST.read_text())["streams"]
    return {
        stream["name"]: list(stream["schema_loader"]["schema"]["properties"]) for stream in streams
    }


def catalog(streams):
    """All of them, incremental."""
    return {
        "streams": [
            {
                "stream": {
                    "name": stream,
                    "json_schema": {},
                    "supported_sync_modes": ["full_refresh", "incremental"],
                    "source_defined_cursor": True,
                },
                "sync_mode": "incremental",
                "destination_sync_mode": "append_dedup",
                "cursor_field": ["cursor_at"],
                "primary_key": [["id"]],
            }
            for stream in streams
        ]
    }


def stamp(said):
    """A time in any form that the service takes, in the one that the service writes."""
    # At most six decimals of a second are significant.
    text = re.sub(r"(\.\d{6})\d+", r"\1", str(said).strip().upper())
    for form in ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z"):
        try:
            time = datetime.strptime(text, form)
        except ValueError:
            continue
        # A bare date is its midnight, UTC.
        time = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
        return time.astimezone(timezone.utc).strftime(STAMP)
    sys.exit(f"LEADHOST_ERRORS_SINCE is no time such as 2026-11-01T00:00:00Z: {said!r}")


def read(streams, state):
    """The messages of the connector, as they come."""
    config = {
        "base_url": os.environ["LEADHOST_URL"],
        "workspace_key": os.environ["LEADHOST_WORKSPACE_KEY"],
        "errors_since": os.environ.get("LEADHOST_ERRORS_SINCE"),
    }
    config = {name: value for name, value in config.items() if value}
    if "errors_since" in config:
        config["errors_since"] = stamp(config["errors_since"])
    # The folder is this user's alone, as the key is.
    with tempfile.TemporaryDirectory() as folder:
        command = [pathlib.Path(sys.executable).parent / "source-declarative-manifest", "read"]
        for name, content in [("config", config), ("catalog", catalog(streams)), ("state", state)]:
            file = pathlib.Path(folder) / f"{name}.json"
            file.write_text(json.dumps(content))
            command += [f"--{name}", file]
        command += ["--manifest-path", MANIFEST]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as connector:
            for line in connector.stdout:
                yield json.loads(line)
        if connector.returncode != 0:
            sys.exit(f"the connector ended with {connector.returncode}")


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "state.json"
    state = json.loads(kept.read_text()) if kept.exists() else []
    columns = declared()
    files = {}
    for message in read(columns, state):
        if message["type"] == "RECORD":
            record = message["record"]
            name = record["stream"]
            if name not in files:
                files[name] = (folder / f"{name}.jsonl").open("a")
            # Airbyte leaves nulls out: a column without a value has none.
            row = {column: record["data"].get(column) for column in columns[name]}
            files[name].write(json.dumps(row) + "\n")
        elif message["type"] == "STATE":
            for file in files.values():
                file.flush()
            new = message["state"]
            of = new["stream"]["stream_descriptor"]
            others = [old for old in state if old["stream"]["stream_descriptor"] != of]
            state = [*others, new]
            kept.write_text(json.dumps(state))
        elif message["type"] in ("LOG", "TRACE"):
            print(json.dumps(message), file=sys.stderr)


if __name__ == "__main__":
    main()

"""Prints the rows that dlt has put into DuckDB in the service's format: one line for each row, times as
texts, objects as JSON. dlt's own columns are left out.

`duckdb_rows.py FILE TABLE...`, in dlt's environment.
"""

import json
import sys
from datetime import datetime, timedelta, timezone

import duckdb


def text(micros):
    time = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def main():
    file, *tables = sys.argv[1:]
    database = duckdb.connect(file, read_only=True)
    made = {
        name for (name,) in database.execute("select table_name from duckdb_tables()").fetchall()
    }
    # dlt makes no table for a stream without rows.
    for table in made.intersection(tables):
        described = database.execute(f'describe workspace."{table}"').fetchall()
        kinds = {name: kind for name, kind, *_ in described if not name.startswith("_dlt")}
        fields = ", ".join(
            f'epoch_us("{name}")' if kind.startswith("TIMESTAMP") else f'"{name}"'
            for name, kind in kinds.items()
        )
        for values in database.execute(f'select {fields} from workspace."{table}"').fetchall():
            row = {}
            for (name, kind), value in zip(kinds.items(), values):
                if value is not None and kind.startswith("TIMESTAMP"):
                    value = text(value)
                elif value is not None and kind == "JSON":
                    value = json.loads(value)
                row[name] = value
            print(json.dumps([table, row]))


if __name__ == "__main__":
    main()

"""Runs schemathesis against a running service and judges its findings.

`conformance.py WORLD` runs it once with the right keys and once with the keys of the
other workspace, both with the ids of the first, all checks on. Every finding has to
be listed in exceptions.toml; with the other workspace's keys nothing of the first may
be in any answer.

The run is deterministic: generated examples depend only on the seed and the document,
and each exception is checked with its own request.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

import world as worlds

SEED = 20_260_302
# For each operation, in each of the phases that generate examples.
EXAMPLES = 15

HERE = pathlib.Path(__file__).parent

# The first digit of the status that a check complains about.
COMPLAINS_OF = {
    "positive_data_acceptance": 4,
    "negative_data_rejection": 2,
    "not_a_server_error": 5,
}


def settings(places, keys):
    """The configuration of schemathesis."""
    # Answers hold new ids and times in each run.
    own_data = {"extra-data-sources": {"responses": False}}
    return {
        "seed": SEED,
        "continue-on-failure": True,
        "request-timeout": 60,
        # The speed of the machine is no finding.
        "suppress-health-check": ["all"],
        "parameters": {f"path.{name}": value for name, value in places.items()},
        "generation": {
            # U+0000 is refused in every text; the document says that once for all texts.
            "allow-x00": False,
            "max-examples": EXAMPLES,
            # Findings of an earlier run have no part in this one.
            "database": "none",
            "no-shrink": True,
        },
        "phases": {
            "examples": own_data,
            "coverage": own_data,
            "fuzzing": {**own_data, "error-feedback": {"enabled": False}},
            "stateful": {"link-calibration": False},
        },
        "auth": {
            "openapi": {
                "partnerKey": {"api_key": keys["partnerKey"]},
                "accessToken": {"bearer": keys["accessToken"]},
                "workspaceKey": {"bearer": keys["workspaceKey"]},
            }
        },
        "output": {"sanitization": {"enabled": False}},
    }


def as_toml(value):
    """A value as TOML, tables inline."""
    if isinstance(value, dict):
        members = (f"{json.dumps(key)} = {as_toml(member)}" for key, member in value.items())
        return "{ " + ", ".join(members) + " }"
    return json.dumps(value)


def run(world, name, places, keys):
    """The events of one run."""
    folder = world.folder / "schemathesis" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config = folder / "schemathesis.toml"
    members = settings(places, keys).items()
    config.write_text("".join(f"{key} = {as_toml(value)}\n" for key, value in members))
    events = folder / "events.ndjson"
    output = folder / "output.txt"
    print(f"schemathesis with {name} keys", flush=True)
    command = [
        pathlib.Path(sys.executable).parent / "schemathesis",
        "--config-file",
        config,
        "run",
        f"{world.gateway}/openapi.json",
        "--checks",
        "all",
        "--report-ndjson-path",
        events,
        "--no-color",
    ]
    # Sets are iterated in the same order each time.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    with open(output, "wb") as told:
        ended = subprocess.run(
            command, stdout=told, stderr=subprocess.STDOUT, cwd=folder, env=environment
        ).returncode
    # 1: there are findings, which are judged here.
    if ended not in (0, 1):
        sys.exit(f"schemathesis ended with {ended}:\n{output.read_text()}")
    return [json.loads(line) for line in events.read_text().splitlines()]


def text_of(part):
    """A body as the events hold it."""
    if isinstance(part, dict):
        part = part.get("$base64") or part.get("payload") or ""
    try:
        return base64.b64decode(part or "").decode("utf-8", "replace")
    except ValueError:
        return str(part)


def recorded(events):
    """For every scenario the operation, the request, the answer and the checks."""
    for event in events:
        scenario = event.get("ScenarioFinished")
        if not scenario or not scenario.get("recorder"):
            continue
        recorder = scenario["recorder"]
        for case, asked in recorder.get("interactions", {}).items():
            label = recorder["label"]
            own = recorder.get("cases", {}).get(case, {}).get("value")
            if own:
                # A scenario of several steps has a name of its own.
                label = f"{own['method']} {own['path']}"
            answer = asked.get("response") or {}
            checks = recorder.get("checks", {}).get(case, [])
            yield label, asked["request"], answer, checks


def broken_off(events):
    """The errors of schemathesis itself."""
    for event in events:
        for name in ("NonFatalError", "FatalError"):
            if name in event:
                yield json.dumps(event[name])[:2000]


def names(world):
    """Each operation's name and whether it needs a key, by method and path."""
    document = json.loads(world.document.read_text())
    return {
        f"{method.upper()} {path}": (operation["operationId"], bool(operation["security"]))
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }


def outdated(world, places, exceptions):
    """The exceptions that no longer occur: each has a request, and if it needs one, a
    request before that."""
    document = json.loads(world.document.read_text())
    operations = {
        operation["operationId"]: (method.upper(), path, operation["security"])
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }
    for one in exceptions:
        method, path, security = operations[one["operation"]]
        for request in one.get("before", []) + [one["request"]]:
            headers = world.proof(next(iter(security[0]))) if security else {}
            headers.update(request.get("headers", {}))
            names = {**places, **request.get("path", {})}
            address = path.format(**names) + "?" + request.get("query", "")
            status, text = world.send(method, address, request.get("body"), headers)
        if status // 100 != COMPLAINS_OF[one["check"]] or one["answer"] not in text:
            told = f"{one['operation']}: {one['check']}, {one['answer']!r}"
            yield f"exceptions.toml lists what no longer occurs: {told}, but {status} {text[:300]}"


def judge(events, known, exceptions):
    """The findings that no exception covers, each once."""
    findings = {}
    for label, request, answer, checks in recorded(events):
        text = text_of(answer.get("content"))
        operation, _ = known.get(label, (label, False))
        for check in checks:
            if check["status"] == "success":
                continue
            covered = any(
                (one["operation"], one["check"]) == (operation, check["name"]) and one["answer"] in text
                for one in exceptions
            )
            if not covered:
                told = f"{request['method']} {request['uri']}\n    {text_of(request.get('body'))[:300]}"
                told += f"\n    {answer.get('status_code')} {text[:300]}"
                findings.setdefault((operation, check["name"]), []).append(told)
    for (operation, check), cases in findings.items():
        yield f"{operation}: {check}, {len(cases)} times, such as\n    {cases[0]}"


def leaks(events, known, marks):
    """Answers with data that the key must not reach."""
    for label, request, answer, _ in recorded(events):
        _, asks_for_key = known.get(label, ("", False))
        if not asks_for_key:
            continue
        text = text_of(answer.get("content")) + json.dumps(answer.get("headers") or {})
        for mark in marks:
            if mark in text:
                yield f"{request['method']} {request['uri']} reveals {mark} of the other workspace"


def main():
    world = worlds.of_arguments()
    name, phone = "Teresa Valadão", "+5511955550104"
    deal = world.lead("L-conformance", name, phone)
    ticket = world.ticket(deal)
    places = {
        "partnerConnectionId": world.connection,
        "instanceId": world.instance,
        "token": world.token,
        "dealId": deal,
        "id": ticket,
    }
    exceptions = tomllib.loads((HERE / "exceptions.toml").read_text())["exception"]
    known, wrong = names(world), list(outdated(world, places, exceptions))
    for whose, keys in (("own", world.own), ("other", world.other)):
        events = run(world, whose, places, keys)
        asked = sum(1 for _ in recorded(events))
        print(f"  {asked} requests", flush=True)
        if asked < 20 * len(known):
            wrong.append(f"with {whose} keys only {asked} requests were made")
        wrong.extend(broken_off(events))
        wrong.extend(judge(events, known, exceptions))
        if whose == "other":
            marks = [deal, ticket, name, phone.removeprefix("+"), "Aurora Homes", world.connection]
            wrong.extend(leaks(events, known, marks))
    if wrong:
        sys.exit("\n".join(wrong))
    print("Schemathesis has no findings besides the intended ones.")


if __name__ == "__main__":
    main()

"""Real clients pull a running service and end with exactly its rows.

`suite.py WORLD` runs the same scenario with every client of `examples/clients`, on the
service that WORLD names: a full pull, an incremental one, an idle one, pulls while
rows keep changing, one with a clock that is an hour behind, one with a small rate limit.
After each the rows of each client are compared with the service's own export, by id and
field by field.
"""

import concurrent.futures
import copy
import json
import pathlib
import shutil
import sys
import time

import clients
from service import Service, Writers


def differences(service, client, streams):
    """The differences between a client and the service, in sentences."""
    found = []
    for stream in streams:
        own, theirs = service[stream], client.get(stream, {})
        missing, extra = own.keys() - theirs.keys(), theirs.keys() - own.keys()
        if missing:
            found.append(
                f"{stream}: {len(missing)} of {len(own)} rows are missing, such as {min(missing)}"
            )
        if extra:
            found.append(f"{stream}: {len(extra)} extra rows, such as {min(extra)}")
        others = [id for id in own.keys() & theirs.keys() if own[id] != theirs[id]]
        if others:
            id = min(others)
            told = [
                (name, theirs[id].get(name, "missing"), own[id].get(name, "missing"))
                for name in sorted(own[id].keys() | theirs[id].keys())
            ]
            fields = [f"{name} is {it!r} instead of {so!r}" for name, it, so in told if it != so]
            found.append(f"{stream}: {len(others)} rows differ, such as {id}: {'; '.join(fields)}")
    return found


def the_comparison_can_fail(service):
    """Checks that the comparison finds differences: otherwise its silence proves nothing."""
    for stream, rows in service.items():
        for harm in (
            "a row is missing",
            "a row is too many",
            "a field differs",
            "a field is missing",
        ):
            harmed = copy.deepcopy(service)
            id = next(iter(rows))
            if harm == "a row is missing":
                del harmed[stream][id]
            elif harm == "a row is too many":
                harmed[stream]["another"] = {**rows[id], "id": "another"}
            elif harm == "a field differs":
                harmed[stream][id]["cursor_at"] = "1970-01-01T00:00:00.000000Z"
            else:
                del harmed[stream][id]["workspace_id"]
            if not differences(service, harmed, service):
                sys.exit(f"the comparison does not detect that in {stream} {harm}")


def ends(rows):
    """The greatest stamp of each stream."""
    return {
        stream: max((row["cursor_at"] for row in of_it.values()), default="")
        for stream, of_it in rows.items()
    }


class Story:
    def __init__(self, told):
        self.service = Service(told)
        self.workspace = self.service.workspace
        self.environments = told["environments"]
        self.name = told["store"]
        self.folder = self.service.folder / "pulls"
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self.clients = [self.client(kind, self.workspace, "wide") for kind in clients.ALL]
        self.start = time.monotonic()

    def client(self, kind, workspace, folder):
        folder = self.folder / folder
        folder.mkdir(parents=True, exist_ok=True)
        return kind(self.environments[kind.name], workspace, folder)

    def say(self, what):
        print(f"{self.name:>12} {time.monotonic() - self.start:5.0f} s  {what}", flush=True)

    def each(self, work, some=None):
        """Runs it with all clients at once. Returns the results by client."""
        some = some or self.clients
        with concurrent.futures.ThreadPoolExecutor(len(some)) as pool:
            return dict(zip(some, pool.map(work, some)))

    def compare(self, rows, some=None):
        """Checks that every client has exactly these rows."""
        for client, theirs in self.each(lambda client: client.rows(), some).items():
            found = differences(rows, theirs, client.streams)
            if found:
                raise clients.Failed(
                    f"on {self.name} {client.name} has wrong rows:\n  " + "\n  ".join(found)
                )

    def pull(self, what, changed_since=None, **how):
        """Pulls with every client that can. Afterwards it has the service's rows, and has pulled
        only the changed ones, and for each stream the one at the bound. Returns the ends of
        the streams."""
        some = [client for client in self.clients if client.has_clock or not how]
        if how:
            late = self.each(lambda client: time.time() - client.clock(**how), some)
            if min(late.values()) < 3000:
                raise clients.Failed(
                    "a client's clock is not behind: time-machine does not reach it"
                )
        rows = self.workspace.rows()
        brought = self.each(lambda client: client.pull(**how), some)
        self.compare(rows, some)
        for client, counts in brought.items():
            for stream, count in counts.items():
                all_of_it = [row["cursor_at"] for row in rows[stream].values()]
                since = (changed_since or {}).get(stream)
                changed = sum(since is None or stamp > since for stamp in all_of_it)
                if not changed <= count <= changed + (since is not None):
                    what = f"pulled {count} {stream}, {changed} of them changed"
                    raise clients.Failed(f"on {self.name} {client.name} {what}")
        total = ", ".join(
            f"{client.name} {sum(counts.values())}" for client, counts in brought.items()
        )
        self.say(f"{what}: {total} rows")
        return ends(rows)

    def tell(self):
        workspace = self.workspace
        for _ in range(3):
            workspace.leads(500)
        workspace.replies(workspace.phones[:300] * 4)
        for phone in workspace.phones[:30]:
            workspace.notify(phone)
        for phone in workspace.phones[30:36]:
            workspace.notify(phone, "unreachable")
        the_comparison_can_fail(workspace.rows())
        seen = self.pull("full pull")

        for deal in workspace.deals[:40]:
            workspace.change(deal, "visit_scheduled")
        workspace.leads(5)
        workspace.notify(workspace.phones[-1])
        workspace.notify(workspace.phones[-2], "unreachable")
        workspace.replies(workspace.phones[100:120])
        seen = self.pull("incremental pull", seen)
        self.pull("idle pull", seen)

        with Writers(workspace) as writers:
            self.each(lambda client: client.pull())
        self.say(f"{writers.written} writes during a pull, {writers.rate:.0f} a second")
        rows = workspace.rows()
        self.each(lambda client: client.pull())
        self.compare(rows)
        self.say(f"after the writes: {sum(map(len, rows.values()))} rows, all there")

        for deal in workspace.deals[:10]:
            workspace.change(deal, "visit_completed")
        workspace.leads(3)
        workspace.notify(workspace.phones[-1], "unreachable")
        self.pull("with a clock that is an hour behind", ends(rows), behind=True)
        self.wait_for_turns()

    def wait_for_turns(self):
        """Runs each client in a workspace with a small rate limit that is already used up."""
        all_rows, waiting = {}, []
        for kind in clients.ALL:
            workspace = self.service.narrow(kind.name)
            workspace.leads(5)
            client = self.client(kind, workspace, "narrow")
            all_rows[client] = workspace.all_rows()
            workspace.use_up()
            waiting.append(client)
        before = self.service.refusals()
        self.each(lambda client: client.pull(), waiting)
        refused = self.service.refusals() - before
        for client in waiting:
            self.compare(all_rows[client], [client])
        if not refused:
            raise clients.Failed(f"on {self.name} no client met the rate limit")
        self.say(f"past {refused} refusals of a small rate limit: complete")


def main():
    story = Story(json.loads(pathlib.Path(sys.argv[1]).read_text()))
    try:
        story.tell()
    except clients.Failed as failure:
        sys.exit(str(failure))
    story.say("every client has exactly the service's rows")


if __name__ == "__main__":
    main()

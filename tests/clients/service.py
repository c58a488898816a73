"""The service for the test of clients: the actions of its remote servers over HTTP (a source that
posts leads, a partner that changes deals and sends messages, contacts that answer), and its
rows.
"""

import http.client
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

ENTITIES = ("conversations", "messages", "contacts", "deals")
ERRORS = "message_errors"
# How long work in progress may take to finish.
SETTLED_SECONDS = 120
# How long an idle connection is kept.
IDLE_SECONDS = 5
# The number of leads, so that no two are the same.
NUMBERS = itertools.count(1)


class Workspace:
    """One workspace: its remote servers, and its rows."""

    def __init__(self, address, keys):
        self.address = address
        self.key = keys["workspaceKey"]
        self.partner = keys.get("partnerKey")
        self.connection = keys["connections"]["crm"]
        self.instance = keys["instances"]["front-desk"]
        self.webhook = keys["webhooks"]["front-desk"]
        self.messages = 0
        self.lock = threading.Lock()
        self.deals = []
        self.phones = []
        self.threads = threading.local()

    @property
    def url(self):
        return f"http://{self.address}"

    def send(self, method, path, body=None, **headers):
        """Status and JSON of a call, on a connection that each thread keeps."""
        headers["content-type"] = "application/json"
        data = None if body is None else json.dumps(body)
        connection = self.line()
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        said = answer.read()
        self.threads.used = time.monotonic()
        is_json = "json" in answer.headers.get("content-type", "")
        return answer.status, json.loads(said) if is_json else said.decode()

    def line(self):
        """This thread's connection; a new one where the service may have closed it as idle."""
        if time.monotonic() - getattr(self.threads, "used", -math.inf) > IDLE_SECONDS:
            self.threads.connection = http.client.HTTPConnection(self.address, timeout=60)
        return self.threads.connection

    def ask(self, method, path, body=None, expect=(200, 201, 202), **headers):
        """The JSON of a call that must be answered as expected."""
        status, said = self.send(method, path, body, **headers)
        if status not in expect:
            sys.exit(f"{method} {path} was answered with {status}: {said}")
        return said

    # The actions of remote servers.

    def leads(self, count):
        """New leads, in one delivery."""
        leads = [lead(number) for number in itertools.islice(NUMBERS, count)]
        said = self.ask("POST", f"/ingest-lead/{self.connection}", {"leads": leads})
        self.deals += [lead["dealId"] for lead in said["leads"]]
        self.phones += [lead["phone"] for lead in leads]

    def change(self, deal, stage):
        self.ask("PATCH", f"/deal/{deal}", {"stageCode": stage}, **self.as_partner())

    def notify(self, phone, template="welcome"):
        """A message to a contact; the answer is 400 if the channel refuses it."""
        body = {
            "name": "Ivo Brandão",
            "phoneNumber": phone,
            "instanceId": self.instance,
            "source": "suite",
            "messageTemplate": template,
            "replacements": ["Ivo"],
        }
        expect = (200,) if template == "welcome" else (400,)
        self.ask("POST", "/send-notification", body, expect, **self.as_partner())
        self.count(1)

    def replies(self, phones):
        """Contacts write, all in one webhook."""
        events = [{"inbound": {"from": phone, "text": "Ainda está livre?"}} for phone in phones]
        self.ask("POST", self.webhook, {"events": events})
        self.count(len(events))

    def count(self, messages):
        with self.lock:
            self.messages += messages

    def as_partner(self):
        return {"x-service-api-key": self.partner}

    # Its rows.

    def pages(self, path):
        """The rows of a pull, without any client."""
        cursor = None
        while True:
            more = f"&cursor={urllib.parse.quote(cursor)}" if cursor else ""
            page = self.ask("GET", f"{path}limit=1000{more}", **self.as_reader())
            yield from page["data"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def stream(self, stream):
        """The rows of a stream by their ids."""
        if stream == ERRORS:
            since = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86_400))
            path = f"/v1/reports/{ERRORS}?updated_since={since}&"
        else:
            path = f"/v1/export/{stream}?"
        return {row["id"]: row for row in self.pages(path)}

    def rows(self):
        """All rows, once nothing changes: messages are finished in the background."""
        until = time.monotonic() + SETTLED_SECONDS
        before, now = None, self.all_rows()
        while before != now or not self.is_settled(now):
            if time.monotonic() > until:
                sys.exit(f"the service is still busy after {SETTLED_SECONDS} s")
            time.sleep(0.5)
            before, now = now, self.all_rows()
        return now

    def is_settled(self, rows):
        """Every message is stored, and none is in flight."""
        messages = rows["messages"].values()
        on_their_way = [
            row for row in messages if row["metadata"]["status"] in ("waiting", "sending")
        ]
        return len(messages) == self.messages and not on_their_way

    def all_rows(self):
        return {stream: self.stream(stream) for stream in (*ENTITIES, ERRORS)}

    def use_up(self):
        """Asks until the rate limit is reached."""
        while self.send("GET", "/v1/whoami", **self.as_reader())[0] != 429:
            pass

    def as_reader(self):
        return {"authorization": f"Bearer {self.key}"}


class Service:
    """One running service, with an initial workspace."""

    def __init__(self, told):
        self.program = told["program"]
        self.folder = pathlib.Path(told["folder"])
        self.data = told["data"]
        self.address = told["gateway"]
        self.admin = told["admin"]
        self.workspace = Workspace(self.address, told["keys"])

    def refusals(self):
        """How often it has answered 429."""
        with urllib.request.urlopen(f"http://{self.admin}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return sum(
            int(line.split()[-1])
            for line in lines
            if 'reason="rate of one workspace"' in line
        )

    def narrow(self, name):
        """A workspace with a small rate limit, of this name."""
        told = (pathlib.Path(__file__).parent / "narrow.toml").read_text()
        file = self.folder / f"narrow-{name}.toml"
        file.write_text(told.replace('"narrow"', f'"narrow-{name}"'))
        made = subprocess.run(
            [self.program, "apply", file, "--json"],
            env={**os.environ, "LEADHOST_DATA_DIR": self.data},
            stdout=subprocess.PIPE,
            check=True,
        )
        made = json.loads(made.stdout)
        keys = {**made, "workspaceKey": made["keys"][0]["key"], "webhooks": made["channels"]}
        return Workspace(self.address, keys)


class Writers:
    """Writes at a steady pace while the block runs: changes of deals, with leads, messages and
    answers among them. A delivery counts as the number of its items."""

    RATE = 200
    THREADS = 8
    TOGETHER = 10

    def __init__(self, workspace):
        self.workspace = workspace
        self.is_over = threading.Event()
        self.calls = itertools.count()
        self.begun = self.written = 0
        self.failure = None
        self.lock = threading.Lock()

    def __enter__(self):
        self.start = time.monotonic()
        self.all = [threading.Thread(target=self.write) for _ in range(self.THREADS)]
        for thread in self.all:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.all:
            thread.join()
        self.rate = self.written / (time.monotonic() - self.start)
        if self.failure:
            sys.exit(f"a write failed: {self.failure}")

    def write(self):
        try:
            while True:
                size, work = self.upcoming()
                with self.lock:
                    due = self.start + self.begun / self.RATE
                    self.begun += size
                if self.is_over.wait(max(0, due - time.monotonic())):
                    return
                work()
                with self.lock:
                    self.written += size
        # The main thread ends the test: an error here would end only this one.
        except (Exception, SystemExit) as failure:
            self.failure = failure

    def upcoming(self):
        """The next write, and how many changes it has."""
        workspace, count = self.workspace, next(self.calls)
        phones = [
            workspace.phones[(count + more) % len(workspace.phones)]
            for more in range(self.TOGETHER)
        ]
        if count % 20 == 0:
            return self.TOGETHER, lambda: workspace.leads(self.TOGETHER)
        if count % 20 == 1:
            return 1, lambda: workspace.notify(phones[0])
        if count % 20 == 2:
            return 1, lambda: workspace.notify(phones[0], "unreachable")
        if count % 20 < 6:
            return self.TOGETHER, lambda: workspace.replies(phones)
        # Never the current value: that would be a no-op.
        stage = ("in_service", "negotiating")[count // len(workspace.deals) % 2]
        deal = workspace.deals[count % len(workspace.deals)]
        return 1, lambda: workspace.change(deal, stage)


def lead(number):
    return {
        "id": f"L-{number}",
        "name": f"Lia Prata {number}",
        "phone": f"+55119{60_000_000 + number}",
        "email": None if number % 3 else f"lia.{number}@example.com",
        "message": "Está livre? “Sim” ou não \\ 🏠",
    }

"""The service that `cargo xtask suite api` started, for the scripts here:
its address, the keys of two workspaces, and the data that the scripts put into the first.
"""

import json
import pathlib
import sys
import urllib.error
import urllib.request


class World:
    def __init__(self, path):
        told = json.loads(pathlib.Path(path).read_text())
        self.gateway = told["gateway"]
        self.folder = pathlib.Path(told["folder"])
        self.document = pathlib.Path(told["document"])
        own = told["own"]
        self.own = {name: own[name] for name in ("partnerKey", "accessToken", "workspaceKey")}
        self.connection = own["connections"]["crm"]
        self.instance = own["instances"]["front-desk"]
        self.token = own["webhooks"]["front-desk"].rsplit("/", 1)[-1]
        made = {key["kind"]: key["key"] for key in told["other"]["keys"]}
        self.other = {
            "partnerKey": made["partner"],
            "accessToken": made["access-token"],
            "workspaceKey": made["workspace"],
        }

    def proof(self, scheme):
        """The headers of the first workspace's key for one of the document's schemes."""
        if scheme == "partnerKey":
            return {"x-service-api-key": self.own[scheme]}
        return {"authorization": f"Bearer {self.own[scheme]}"}

    def send(self, method, path, body=None, headers=None):
        """Makes a call without a generated client. Returns status and text. A text is sent as it is,
        any other body as JSON."""
        headers = dict(headers or {})
        data = None
        if isinstance(body, str):
            headers["content-type"] = "text/plain"
            data = body.encode()
        elif body is not None:
            headers["content-type"] = "application/json"
            data = json.dumps(body).encode()
        request = urllib.request.Request(self.gateway + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()

    def ask(self, method, path, body=None, headers=None):
        """The JSON of a call that must succeed."""
        status, text = self.send(method, path, body, headers)
        if status >= 300:
            sys.exit(f"{method} {path} was answered with {status}: {text}")
        return json.loads(text)

    def lead(self, external_id, name, phone):
        """Sends a lead of the first workspace. Returns its deal."""
        body = {"id": external_id, "name": name, "phone": phone, "message": "Is it free?"}
        answer = self.ask("POST", f"/ingest-lead/{self.connection}", body)
        return answer["leads"][0]["dealId"]

    def ticket(self, deal):
        """The ticket that opens when the deal is handed over."""
        change = {"stageCode": "transferred"}
        self.ask("PATCH", f"/deal/{deal}", change, self.proof("partnerKey"))
        page = self.ask("GET", "/tickets", headers=self.proof("accessToken"))
        return next(ticket["id"] for ticket in page["tickets"] if ticket["dealId"] == deal)


def of_arguments():
    return World(sys.argv[1])

"""A device that goes through a script of events, as js/vectors/events.jsonl has them."""

import json
from pathlib import Path
from typing import Any

from discreet.device import Device, Limits
from discreet.device.protocol.collection import Collection, open_envelope
from discreet.device.sending import Answer
from discreet.errors import DiscreetError

ROOT = Path(__file__).parents[2]
HEAD, *SCRIPTS = map(json.loads, (ROOT / "js" / "vectors" / "events.jsonl").read_text().splitlines())
TRUST = [bytes.fromhex(key) for key in HEAD["trust"]]
ENVELOPES = {label: json.dumps(envelope).encode() for label, envelope in HEAD["envelopes"].items()}


class Scripted:
    """A device, its clock and its collector."""

    def __init__(self, folder: Path, script: dict[str, Any]) -> None:
        self.folder, self.script = folder, script
        self.now = 0.0
        self.answers: list[Any] = []
        self.posted: list[tuple[str, bytes]] = []
        self.device = self._opened()

    def _opened(self) -> Device:
        return Device(
            self.folder,
            TRUST,
            Limits(**self.script["limits"]),
            person_secret=bytes.fromhex(self.script["person_secret"]),
            clock=lambda: self.now,
            post=self._post,
        )

    def _post(self, origin: str, frame: bytes) -> Answer:
        self.posted.append((origin, frame))
        said = self.answers.pop(0)
        return Answer(*said) if isinstance(said, list) else Answer(said)

    def step(self, event: dict[str, Any]) -> Any:
        """Let an event happen; return what became of it, in the words of the script."""
        self.now = event["at"]
        try:
            return getattr(self, event["do"])(event)
        except DiscreetError as error:
            return getattr(error, "reason", "refused")

    @staticmethod
    def collection(event: dict[str, Any]) -> Collection:
        return open_envelope(ENVELOPES[event["envelope"]], TRUST)

    def accept(self, event: dict[str, Any]) -> str:
        assert self.device.accept(ENVELOPES[event["envelope"]]).id == self.collection(event).id
        return "done"

    def agree(self, event: dict[str, Any]) -> str:
        self.device.agree(self.collection(event))
        return "done"

    def tag(self, event: dict[str, Any]) -> str:
        self.device.tag(self.collection(event), event["tagged"])
        return "done"

    def answer(self, event: dict[str, Any]) -> str:
        return str(self.device.answer(self.collection(event), event["value"]))

    def decline(self, event: dict[str, Any]) -> str:
        self.device.decline(event["name"])
        return "done"

    def forget(self, _: dict[str, Any]) -> str:
        self.device.forget()
        return "done"

    def restart(self, _: dict[str, Any]) -> str:
        self.device.close()
        self.device = self._opened()
        return "done"

    def send(self, event: dict[str, Any]) -> dict[str, int]:
        self.answers = list(event["answers"])
        found = self.device.send()
        assert not self.answers
        return {name: getattr(found, name) for name in event["expect"]}

    def spent(self, _: dict[str, Any]) -> float:
        return self.device.budget().spent

    def states(self, _: dict[str, Any]) -> list[str]:
        return [entry.state for entry in self.device.log()]

    def records(self, _: dict[str, Any]) -> list[str]:
        return [entry.record.hex() for entry in self.device.log()]

"""A device that has answered and sends over the network, under a clock of its own."""

from pathlib import Path
from typing import Any

from discreet.device import Device, Limits, Outcome
from discreet.device.sending import post
from signed import EPOCH, START, TRUST, envelope


class Sender:
    """A device with one report for each of some epochs, in the last of which it is now."""

    def __init__(self, folder: Path, *origins: str, epochs: int = 1, late: int = EPOCH, **named: Any) -> None:
        self.now, self.deliver = float(START + 10), named.pop("post", post)
        if "proxy" not in named:
            named["post"] = lambda *sent: self.deliver(*sent)  # noqa: PLW0108 - tests replace `deliver`
        self.device = Device(folder, TRUST, Limits(2, 40, 40), clock=lambda: self.now, **named)
        found = self.device.accept(envelope(answers="fresh", lifetime=24.0, late=late, collectors=origins))
        self.device.agree(found)
        for _ in range(epochs):
            assert self.device.answer(found, "daily") is Outcome.RECORDED
            self.now += EPOCH
        self.now -= EPOCH

"""Shows the whole system on this machine: a collector, 300 simulated devices, a browser that answers, and a page.

    python tools/demo_system.py [--devices 300] [--out out/system]

Starts ``discreet serve --demo``, lets a headless Chromium answer on the page that it serves, waits until the epoch is
sealed and its estimate is shown, opens the page of the estimate, and ends the collector. Pictures are written to the
folder. Exits with 1 if something was not shown. Without a Chromium the devices answer alone.
"""

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

_DEADLINE = 300.0
_ANSWER = "bicycle"


def main() -> int:
    """Run the demonstration, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("out/system"))
    parser.add_argument("--listen", default="127.0.0.1:8091")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "discreet", "serve", "--demo", "--devices", str(chosen.devices)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command += ["--listen", chosen.listen, "--log", "warning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as server:
        try:
            shown = _watched(server, chosen.out)
        finally:
            server.terminate()
            code = server.wait(20)
    print(f"The collector has ended with exit code {code}.")
    return 0 if shown and code == 0 and _served_itself(chosen.out.absolute()) else 1


def _served_itself(out: Path) -> bool:
    """Run a team's own service with the intake mounted: a browser and devices answer, and the reports are sealed."""
    folder, port = Path(tempfile.mkdtemp(prefix="discreet-service-")), 8092
    origin, plan = f"http://127.0.0.1:{port}", folder / "plan.toml"
    plan.write_text(_PLAN)
    words = ["--title", "How did you come here?", "--purpose", "To plan our car park", "--contact", "us@example.org"]
    terms = ["--answers", "fresh", "--epoch", "1d", "--epochs", "30", "--lifetime", "20", "--least", "50"]
    try:
        told = _run("collection", "key", "new", str(folder / "key.pem"))
        key = told.split()[-1]
        signing = ["--name", "survey", "--collector", origin, "--key", str(folder / "key.pem")]
        _run("collection", "sign", str(plan), *signing, *words, *terms, "-o", str(folder / "survey.json"))
        environment = {**os.environ, "SERVICE_FOLDER": str(folder), "SERVICE_KEY": key}
        command = [sys.executable, "-m", "uvicorn", "own_service:app", "--port", str(port), "--log-level", "error"]
        with subprocess.Popen(command, env=environment, cwd=Path(__file__).parent) as server:
            try:
                is_sent = _answered_in_page(origin, out)
                _answered_by_devices(folder, key)
            finally:
                server.terminate()
        source, sealed = str(folder / "epoch-0"), str(folder / "sealed.parquet")
        seal = ["collector", "seal", str(folder / "survey.json"), "--from", source, "--epoch", "0", "--trust", key]
        print(_run(*seal, "-o", sealed), end="")
        print(_run("estimate", str(plan), sealed, "--page", str(out / "7-own-estimate.html"), "--force"), end="")
    finally:
        shutil.rmtree(folder)
    return is_sent


_PLAN = """epsilon = 1.0
[domain]
labels = ["on foot", "by bicycle", "by car", "in an ambulance"]
sensitive = ["in an ambulance"]
[mechanism]
name = "rr"
"""


def _run(*words: str) -> str:
    """Run a command of discreet, and return its output."""
    return subprocess.run([sys.executable, "-m", "discreet", *words], check=True, capture_output=True, text=True).stdout


def _answered_in_page(origin: str, out: Path) -> bool:
    """Answer in the team's own page; return whether the report was sent."""
    chromium = _chromium()
    if chromium is None:
        return True
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 900})
        _opened(page, origin)
        _button(page, "I agree", out / "6-own-consent.png")
        page.get_by_label("by car").check()
        page.get_by_role("button", name="Answer", exact=True).click()
        page.get_by_text("Your report was sent").wait_for()
        browser.close()
    print(f"A browser has answered in a team's own page. Picture: {out}/6-own-consent.png")
    return True


def _answered_by_devices(folder: Path, key: str, *, devices: int = 80) -> None:
    """Let devices answer, each once."""
    from base64 import b64decode

    from discreet.device import Device, Limits

    envelope = (folder / "survey.json").read_bytes()
    for number in range(devices):
        with Device(folder / "devices" / str(number), [b64decode(key)], Limits(2, 4, 20)) as device:
            collection = device.accept(envelope)
            device.agree(collection)
            device.answer(collection, "by bicycle" if number % 3 else "on foot")
            device.send()


def _watched(server: "subprocess.Popen[str]", out: Path) -> bool:
    """Print what the collector shows; answer when the page is there, and look at the page of the estimate."""
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read, args=(server, lines), daemon=True).start()
    deadline, answered = time.monotonic() + _DEADLINE, ""
    while time.monotonic() < deadline:
        try:
            line = lines.get(timeout=1)
        except queue.Empty:
            continue
        if line is None:
            return False
        print(line, end="", flush=True)
        if answered and "simulated devices have answered" in line:
            return _looked(answered, out)
        if not answered and (found := re.search(r"(http://\S+)/take/(\S+)", line)):
            _take(found[0], out)
            answered = f"{found[1]}/collections/{found[2]}/estimates"
    return False


def _read(server: "subprocess.Popen[str]", lines: "queue.Queue[str | None]") -> None:
    for line in server.stdout or ():
        lines.put(line)
    lines.put(None)


def _take(address: str, out: Path) -> None:
    """Take the survey in a browser, as a person would."""
    chromium = _chromium()
    if chromium is None:
        print("No Chromium is here (Debian: apt-get install chromium), so that only simulated devices answer.")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 480, "height": 900})
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        _opened(page, address)
        _button(page, "I agree", out / "1-consent.png")
        page.get_by_label(_ANSWER).check()
        _button(page, "Answer", out / "2-answer.png")
        page.get_by_text("Your report was sent").wait_for()
        page.screenshot(path=out / "3-sent.png", full_page=True)
        left = page.get_by_role("cell").first.inner_text()
        browser.close()
    print(f"A browser has taken the survey; the record that left it is {left}. Pictures: {out}/*.png")
    for message in said:
        print(f"The page logged: {message}")


def _looked(address: str, out: Path) -> bool:
    """Look at the page of the first estimate, wide and on a phone; return whether it has a share."""
    chromium = _chromium()
    if chromium is None:
        return True
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, width in (("4-estimate", 1280), ("5-estimate-phone", 360)):
            page = browser.new_page(viewport={"width": width, "height": 900})
            link = page.get_by_role("link", name="Epoch").first
            while not (page.goto(address) and link.count()):
                # The batch is sealed when its epoch is over.
                time.sleep(1)
            link.click()
            is_shown = page.get_by_text("The largest share is").is_visible()
            page.screenshot(path=out / f"{name}.png", full_page=True)
        browser.close()
    print(f"The page of an estimate: {address}. Pictures: {out}/4-estimate.png, {out}/5-estimate-phone.png")
    return bool(is_shown)


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("google-chrome")


def _opened(page: Any, address: str) -> None:
    """Open the page as soon as the collector answers."""
    for _ in range(100):
        try:
            page.goto(address)
        except Exception:  # the browser's own errors of connections have no class of their own
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"{address} does not answer.")


def _button(page: Any, name: str, picture: Path) -> None:
    button = page.get_by_role("button", name=name, exact=True)
    button.wait_for()
    page.screenshot(path=picture, full_page=True)
    button.click()


if __name__ == "__main__":
    sys.exit(main())

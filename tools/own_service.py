"""A team's own service with the intake mounted, as `tools/demo_system.py` runs it: a page, the survey, and a folder.

Reports go to a folder of Parquet files. The environment names the folder and the key: SERVICE_FOLDER, SERVICE_KEY.
"""

import os
import uuid
from base64 import b64decode
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from discreet.collector.intake import OpenCollection, intake
from discreet.collector.served_pages import scripts

FOLDER, KEY = Path(os.environ["SERVICE_FOLDER"]), os.environ["SERVICE_KEY"]
SURVEY = OpenCollection.of((FOLDER / "survey.json").read_bytes(), [b64decode(KEY)])
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Our shop</title>
<script type="module" src="/static/survey/embed.js"></script>
<main><h1>Our shop</h1><p>Thank you for your order. Here is a question.</p>
<discreet-survey src="{origin}/collections/{name}" key="{key}"></discreet-survey></main>
"""


def _write(epoch: int, rows: bytes) -> None:
    """Write a file of its own for each frame, and put it on disk before it has its name."""
    width = SURVEY.width
    reports = [rows[at : at + width] for at in range(0, len(rows), width)]
    table = pa.table({"id": [one[:16] for one in reports], "record": [one[16:] for one in reports]})
    folder = FOLDER / f"epoch-{epoch}"
    folder.mkdir(exist_ok=True)
    target = folder / f"{uuid.uuid4()}.parquet"
    part = target.with_suffix(".part")
    with part.open("wb") as file:
        pq.write_table(table, file)
        file.flush()
        os.fsync(file.fileno())
    part.rename(target)
    place = os.open(folder, os.O_RDONLY)
    os.fsync(place)
    os.close(place)


async def append(collection: bytes, epoch: int, rows: bytes) -> None:
    """Keep reports; there is one collection here."""
    await run_in_threadpool(_write, epoch, rows)


async def home(request: Request) -> HTMLResponse:
    """Return the shop's page, which has the survey in it."""
    origin = SURVEY.collection.collectors[0]
    return HTMLResponse(_PAGE.format(origin=origin, name=SURVEY.collection.name, key=KEY))


app = Starlette(
    routes=[
        Route("/", home),
        Mount("/static", StaticFiles(directory=str(scripts()))),
        Mount("/", intake([SURVEY], append)),
    ]
)

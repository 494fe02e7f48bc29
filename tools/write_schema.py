"""Writes docs/reference/plan.schema.json, which editors check plans by, from the types that plans are read by."""

import json
from pathlib import Path

from discreet.surveys.documents import every_schema

if __name__ == "__main__":
    path = Path(__file__).resolve().parent.parent / "docs" / "reference" / "plan.schema.json"
    path.write_text(json.dumps(every_schema(), indent=2) + "\n", encoding="utf-8")

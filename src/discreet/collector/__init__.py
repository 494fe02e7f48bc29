"""The collector: people are asked, reports are taken in, stored safely, and sealed in batches.

A wing on the core and on `discreet.device`. Files in reading order:

- `documents/signing.py`: a plan with its terms, signed; `documents/attestation.py`: a page for privacy officers
- `settings.py`, `serving.py`, `app.py`: the service
- `intake.py`: frames of reports, in this collector or in a service of a team; `writer.py`, `outside.py`
- `keeper.py` (the one owner of the data), `access.py`, `storage/`: where reports wait
- `sealing.py`, `batch_estimates.py`, `housekeeping.py`: epochs end
- `operations.py`, `backups.py`, `invariants.py`: the work of verbs; `control.py`: how a verb asks a collector
- `demo.py`, `simulated_devices.py`: a collector to try; `pages/`, `verbs/`
"""

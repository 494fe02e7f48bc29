"""Faults of files."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "a compressed line of any length is read",
        "files/paths.py",
        "text.readline(longest + 1)",
        "text.readline()",
        ("tests/io/test_compressed.py",),
    ),
    Fault(
        "a damaged row group is counted",
        "files/stored.py",
        "if left or found != self.sums[place]:",
        "if left:",
        ("tests/io/test_damage.py",),
    ),
    Fault(
        "a damaged footer is believed",
        "files/stored.py",
        "if checksums.footer != found or checksums.ends[-1] != begin:",
        "if checksums.ends[-1] != begin:",
        ("tests/io/test_damage.py",),
    ),
    Fault(
        "pages are read without their checksums",
        "files/stored.py",
        'given["page_checksum_verification"] = table.checksums is None',
        'given["page_checksum_verification"] = False',
        ("tests/io/test_damage.py",),
    ),
    Fault(
        "a row group that comes to nothing is not missed",
        "files/stored.py",
        "if done != table.rows[group]:",
        "if done > table.rows[group]:",
        ("tests/io/test_damage.py",),
    ),
    Fault(
        "a file that was replaced is read",
        "files/stored.py",
        "if FileState.of(path) != self:",
        "if FileState.of(path).size < 0:",
        ("tests/io/test_changing_files.py",),
    ),
    Fault(
        "the checksums hold a note",
        "files/stored.py",
        '        known = msgspec.json.encode(asdict(checksums)) == text.rstrip(b" ")\n',
        "        known = True\n",
        ("tests/io/test_sealed_checks.py",),
    ),
    Fault(
        "a link to a folder is passed over",
        "files/reading.py",
        "        else:\n            raise DataError(\n",
        "        elif not path.name:\n            raise DataError(\n",
        ("tests/io/test_folders.py",),
    ),
    Fault(
        "files that a log has removed are counted",
        "files/reading.py",
        "[path.name for path in there]",
        "[]",
        ("tests/io/test_folders.py",),
    ),
    Fault(
        "the second of two writers replaces the first",
        "files/writing.py",
        "            _put(beside, target)\n",
        "            beside.replace(target)\n",
        ("tests/io/test_writing.py",),
    ),
    Fault(
        "a new file has its name before it is on the disk",
        "files/writing.py",
        "            os.fsync(file.fileno())\n        if force:",
        "            file.tell()\n        if force:",
        ("tests/io/test_writing.py",),
    ),
]

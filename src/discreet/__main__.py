"""The command ``python -m discreet``, the same as ``discreet``, for machines without ``discreet`` on the path."""

from discreet.cli import main

if __name__ == "__main__":
    main(prog_name="discreet")

"""``python -m discreet``: the same as ``discreet``, where the command itself is not on the path."""

from discreet.cli import main

if __name__ == "__main__":
    main(prog_name="discreet")

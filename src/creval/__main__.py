"""Entry point of `creval` and `python -m creval`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. An interrupt ends it without a traceback, also during imports."""
    try:
        from creval.cli import main as run

        run()
    except KeyboardInterrupt:
        print("creval: stopped.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()

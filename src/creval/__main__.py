"""`python -m creval` is `creval`."""

from creval.cli import main

main()

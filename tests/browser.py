"""Finding and installing the browser for tests.

`make test` first runs `python -m tests.browser`. It installs the distribution's Chromium if it can use `apt-get` as
root; otherwise Playwright downloads its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no Chromium found; `make test` installs one"


def find() -> str | None:
    """Return the path of a Chromium, the system's or Playwright's; None if there is none."""
    for name in _NAMES:
        path = shutil.which(name)
        if path and _starts(path):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).is_file() and _starts(own) else None


def arguments() -> list[str]:
    """Return the arguments for Chromium, whose sandbox does not work as root."""
    return ["--no-sandbox"] if is_root() else []


def is_root() -> bool:
    return getattr(os, "geteuid", lambda: 1)() == 0


def _starts(path: str) -> bool:
    """Return whether the program starts. On Ubuntu, it may be a script that only shows how to install the browser."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def bring() -> str | None:
    """Return the path of a browser, after installing one if necessary."""
    if found := find():
        return found
    who = [] if is_root() else ["sudo", "-n"]
    if shutil.which("apt-get") and (is_root() or shutil.which("sudo")):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            ["apt-get", "update", "-q"],
            ["apt-get", "install", "-q", "-y", "--no-install-recommends", "chromium"],
        ):
            subprocess.run([*who, *command], env=quiet, stdout=subprocess.DEVNULL)
        if found := find():
            return found
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"])
    return find()


if __name__ == "__main__":
    browser = bring()
    print(f"browser for tests: {browser or 'none; tests that need one are skipped'}")
    sys.exit(0 if browser else 1)

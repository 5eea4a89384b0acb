"""The browser that tests drive: finding one, and bringing one where there is none.

`python -m tests.browser` is what `make test` runs first: as root on Debian it installs the
distribution's Chromium, elsewhere it lets Playwright download its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "there is no Chromium to drive; `make test` brings one"


def find() -> str | None:
    """The path of a Chromium: this system's, or Playwright's own."""
    for name in _NAMES:
        path = shutil.which(name)
        if path and _starts(path):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).is_file() and _starts(own) else None


def arguments() -> list[str]:
    """What Chromium has to be told: it refuses its sandbox to root."""
    return ["--no-sandbox"] if is_root() else []


def is_root() -> bool:
    return getattr(os, "geteuid", lambda: 1)() == 0


def _starts(path: str) -> bool:
    """Whether it is a browser and not, as on Ubuntu, a hint how to install one."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def bring() -> str | None:
    """A browser, installed if need be."""
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

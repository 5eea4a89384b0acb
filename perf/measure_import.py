"""Time of `import creval`, compared with a Python that imports nothing."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time


def seconds(script: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", script], check=True)
    return time.perf_counter() - start


def main() -> None:
    nothing, creval = [], []
    for _ in range(9):
        nothing.append(seconds("pass"))
        creval.append(seconds("import creval"))
    extra = statistics.median(creval) - statistics.median(nothing)
    print(f"import creval: {1000 * extra:.0f} ms on top of Python's own start (300 ms wanted)")


if __name__ == "__main__":
    main()

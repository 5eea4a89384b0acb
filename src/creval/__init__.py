"""creval: which image-editing model is better, at what, how sure that is, and why.

>>> import creval
>>> bench = creval.open_benchmark("CREval")            # doctest: +SKIP
>>> run = creval.replay(bench, "CREval/answer_gpt", "runs/paper")    # doctest: +SKIP
>>> creval.open_run("runs/paper").score(subset="paper").frame()      # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from creval.benchmarks import open_benchmark as open_benchmark
    from creval.calls.settings import Settings as Settings
    from creval.core.errors import CrevalError as CrevalError
    from creval.judging.judge_run import judge as judge
    from creval.judging.replay_run import replay as replay
    from creval.store.run import open_run as open_run

__version__ = "0.1.0"

# Where each public name lives. It is imported when it is first used, so that `import creval` is
# quick and needs nothing heavy.
_HOMES = {
    "CrevalError": "creval.core.errors",
    "Settings": "creval.calls.settings",
    "judge": "creval.judging.judge_run",
    "open_benchmark": "creval.benchmarks",
    "open_run": "creval.store.run",
    "replay": "creval.judging.replay_run",
}
__all__ = ["CrevalError", "Settings", "judge", "open_benchmark", "open_run", "replay"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'creval' has no attribute {name!r}")

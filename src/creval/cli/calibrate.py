"""`creval calibrate`: how far a judge can be trusted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import screen
from creval.core.errors import CrevalError

if TYPE_CHECKING:
    from creval.engine.asking import Progress
    from creval.engine.calibrate import Heard
    from creval.stats.shares import Share


def calibrate(
    judge: Annotated[str, typer.Option(metavar="SPEC", help="openai:gpt-4o, pixel ...")],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where the rates go, as JSON.")],
    samples: Annotated[int, typer.Option(min=6, max=9999, help="How many edits.")] = 60,
    repeat: Annotated[int, typer.Option(min=1, help="Ask what is as it is K times.")] = 2,
    variants: Annotated[
        bool, typer.Option("--variants/--no-variants", help="Also ask in changed ways.")
    ] = True,
    concurrency: Annotated[int, typer.Option(min=1, max=4096, help="Calls at once.")] = 32,
    price: Annotated[
        str | None, typer.Option(metavar="IN,OUT", help="US dollars for a million tokens.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other pictures.")] = 0,
    json_: Annotated[bool, typer.Option("--json", help="Print what is written to FILE.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it takes, and stop.")
    ] = False,
) -> None:
    """Ask a judge questions whose answers are known, and say what to trust it for."""
    from creval.build.calibration import PLAIN, VARIANTS, make_cases, make_trials
    from creval.cli.judge import dollars_a_million, in_a_line
    from creval.engine.calibrate import hear, judging, settings_for
    from creval.engine.estimate import estimate
    from creval.engine.settings import Settings
    from creval.judges.spec import open_judges

    path = Path(out)
    if path.suffix.casefold() != ".json":
        raise CrevalError(f"--out {out}: give a file that ends in .json.")
    folder = path.with_suffix("")
    names = list(VARIANTS) if variants else [PLAIN]
    settings = Settings(
        repeat=repeat, temperature=0.0, concurrency=concurrency, price=dollars_a_million(price)
    )
    # A name that is wrong is said before anything is drawn.
    open_judges(judge, replace(settings.judge_options(), keyless=dry_run))
    cases = make_cases(samples, seed)
    line = screen.Line()
    drawn = folder / f"pictures-{samples}-{seed}"
    trials = make_trials(drawn, cases, names, screen.counting(line, "edits drawn"))
    line.clear()
    runs = folder / f"runs-{samples}-{seed}"
    estimates = []
    for name in names:
        one = judging(trials[name], judge, runs / name, settings_for(name, settings), dry=dry_run)
        estimates += estimate(one, one.answered(), None if dry_run else 50)
    screen.note(in_a_line(estimates))
    if dry_run:
        return
    heard = hear(trials, judge, runs, settings, _watcher)
    content = _content(judge, samples, seed, heard)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    if json_:
        screen.print_json(content)
        return
    _print(judge, heard)
    screen.note(f"wrote {out}: creval score RUN --correct {out} uses it.")


def _watcher(variant: str) -> Callable[[Progress], None]:
    line = screen.Line()

    def watch(progress: Progress) -> None:
        if progress.done >= progress.calls:
            line.clear()
        elif line.due():
            passed = time.monotonic() - progress.began
            left = passed / max(1, progress.done) * (progress.calls - progress.done)
            done = f"{progress.done:,} of {progress.calls:,} calls"
            line.show(f"{variant}: {done}, {left:.0f} s left")

    return watch


def _content(judge: str, samples: int, seed: int, heard: Mapping[str, Heard]) -> dict[str, Any]:
    from creval.build.calibration import PLAIN
    from creval.stats.calibration import as_json, by, rates, turned

    plain = heard[PLAIN]
    told = list(plain.told.values())
    return {
        "judge": judge,
        "samples": samples,
        "seed": seed,
        "all": as_json(rates(told)),
        "metrics": {name: as_json(found) for name, found in by(told, "metric").items()},
        "kinds": {name: as_json(found) for name, found in by(told, "kind").items()},
        "unanswered": plain.unanswered,
        "repeats": {"agreed": plain.agreed, "of": plain.repeated},
        "variants": {
            name: {
                **turned(plain.told, one.told)._asdict(),
                **as_json(rates(list(one.told.values()))),
            }
            for name, one in heard.items()
            if name != PLAIN
        },
    }


def _print(judge: str, heard: Mapping[str, Heard]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from creval.build.calibration import PLAIN, VARIANTS
    from creval.report.sentences import trusted
    from creval.report.text import visible
    from creval.stats.calibration import Rate, by, rates, turned
    from creval.stats.shares import Share

    def shown(rate: Rate) -> str:
        low, high = rate.ends
        if rate.value is None or low is None or high is None:
            return "–"
        return f"{100 * rate.value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"

    plain = heard[PLAIN]
    told = list(plain.told.values())
    out = screen.console()
    for sentence in trusted(judge, plain, {n: one for n, one in heard.items() if n != PLAIN}):
        out.print(Text(visible(sentence)))
    table = Table("questions", "asked", "right", "sensitivity", "specificity", "yes-bias",
                  box=SIMPLE_HEAD, pad_edge=False)  # fmt: skip
    for column in table.columns[1:]:
        column.justify = "right"
    rows = {"all": rates(told), **by(told, "metric")}
    for name, found in [*rows.items(), *by(told, "kind").items()]:
        right, bias = found.accuracy, found.yes_bias
        table.add_row(
            Text(visible(name)), f"{found.asked:,}",
            "–" if right is None else f"{100 * right:.1f}", shown(found.sensitivity),
            shown(found.specificity), "–" if bias is None else f"{100 * bias:+.1f}",
            end_section=name in ("all", "VQ"),
        )  # fmt: skip
    out.print(table)
    if len(heard) == 1:
        return
    changes = Table("asked again with", "answers changed", "more yes", "right", box=SIMPLE_HEAD,
                    pad_edge=False)  # fmt: skip
    for column in changes.columns[1:]:
        column.justify = "right"
    if plain.repeated:
        again = Share(plain.repeated - plain.agreed, plain.repeated)
        changes.add_row("nothing changed", _percent(again), "", "")
    for name, one in heard.items():
        if name != PLAIN:
            change, right = turned(plain.told, one.told), rates(list(one.told.values())).accuracy
            more = f"{100 * change.more:+.1f}"
            changes.add_row(
                VARIANTS[name], _percent(change.share),
                Text(more, "bold") if change.decided else more,
                "–" if right is None else f"{100 * right:.1f}",
            )  # fmt: skip
    out.print(changes)
    screen.note(
        "sensitivity: of what is so, how much it affirms; specificity: of what is not, how much it "
        "denies; yes-bias: by how much it says yes too often where both are equally often true; in "
        "percent, with 95 % intervals. Bold: answers turned one way rather than the other."
    )


def _percent(share: Share) -> str:
    low, high = share.ends
    if share.value is None or low is None or high is None:
        return "–"
    return f"{100 * share.value:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"

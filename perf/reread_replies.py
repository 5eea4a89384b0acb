"""Readings of all released replies, and their changes between two versions of the parser.

python perf/reread_replies.py OUT                  writes the readings of this version
python perf/reread_replies.py OUT --against OLD    prints each reply that the older version read differently

For the older version, run this file with its sources first in PYTHONPATH. The replies are those of CREval's release
(parsed and raw, with the references), VIEScore's, and those of six judges on pairs of edits.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import shared_data
from creval.benchmarks import open_benchmark
from creval.core.probe import Question
from creval.core.scales import NamedChoice, get_scale, scales
from creval.core.verdict import Verdict
from creval.judges.recorded import find_recorded_answers, read_recorded_answers
from creval.parsing.judge_replies import parse_reply

Reading = tuple[str, float | None, str]
PREFERENCES = ("A>B", "B>A", "A=B=Good", "A=B=Bad")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    found: dict[str, Reading] = {}
    texts: dict[str, str] = {}
    for key, reading, text in readings():
        found[key], texts[key] = reading, text
    given.out.write_text(json.dumps(found), "utf-8")
    for kind, number in Counter(key.partition(" ")[0] for key in found).items():
        print(f"{number:>7,} {kind}")
    if given.against:
        print_changes(json.loads(given.against.read_text("utf-8")), found, texts)


def readings() -> Iterator[tuple[str, Reading, str]]:
    """Yield the reading of each question of each reply, with the reply's text."""
    yield from creval_readings()
    yield from viescore_readings()
    yield from pairwise_readings()


def creval_readings() -> Iterator[tuple[str, Reading, str]]:
    folder = shared_data.creval_release()
    if folder is None:
        return
    benchmark = open_benchmark(folder)
    asked: dict[tuple[str, str], list[Question]] = {}
    for sample in benchmark.dataset.samples:
        for probe in benchmark.protocol.probes(sample):
            if isinstance(probe, Question):
                asked.setdefault((sample.id, probe.metric), []).append(probe)
                reference = get_scale(probe.scale).normalise_reference(probe.released_reference or "")
                yield f"reference {sample.id}/{probe.id}", ("", None, str(reference)), str(probe.released_reference)
    samples = [sample.id for sample in benchmark.dataset.samples]
    for answers in ("answer_gpt", "answer_qwen"):
        for raw in (False, True):
            recording = find_recorded_answers(folder / answers, ("IF", "VC", "VQ"), samples, raw=raw)
            for file in recording.files:
                if raw != file.name.endswith(".txt"):
                    continue
                questions = asked[file.sample, file.metric]
                _, verdicts = read_recorded_answers(recording.folder, file, questions)
                text = (recording.folder / file.origin).read_text("utf-8", "replace")
                kind = "raw" if raw else "parsed"
                yield from keyed(f"{kind} {answers}/{file.origin}", verdicts, text)


def viescore_readings() -> Iterator[tuple[str, Reading, str]]:
    folder = shared_data.viescore_editing()
    questions = [Question(f"SC/{n}", "SC", "How well?", "0-10") for n in (1, 2)]
    for path in sorted((folder / "answers").glob("*/*/*/*.json")) if folder else []:
        for sample, entry in json.loads(path.read_text("utf-8")).items():
            text = json.dumps(entry)
            where = f"{path.relative_to(folder or '.')}/{sample}"
            yield from keyed(f"viescore {where}", parse_reply(text, questions), text)
            said = f"{entry['score'][0] if isinstance(entry['score'], list) else entry['score']}. {entry['reasoning']}"
            yield from keyed(f"viescore-in-words {where}", parse_reply(said, questions[:1]), said)


def pairwise_readings() -> Iterator[tuple[str, Reading, str]]:
    folder = shared_data.unpacked("edit-pairs.tar.xz")
    scales.register("pairwise", NamedChoice("pairwise", PREFERENCES))
    questions = [Question("P/1", "P", "Which is better?", "pairwise")]
    for path in sorted((folder / "genai-bench").glob("*/pairwise.json")) if folder else []:
        for entry in json.loads(path.read_text("utf-8")):
            text = str(entry["response"])
            yield from keyed(f"pairwise {path.parent.name}/{entry['idx']}", parse_reply(text, questions), text)
            if entry["model_vote"]:  # the verdict, then the whole reply
                said = f"{entry['model_vote'].strip('[]')}\n{text}"
                yield from keyed(
                    f"pairwise-in-words {path.parent.name}/{entry['idx']}", parse_reply(said, questions), said
                )


def keyed(where: str, verdicts: Iterable[Verdict], text: str) -> Iterator[tuple[str, Reading, str]]:
    for at, verdict in enumerate(verdicts):
        yield f"{where}#{at}", (str(verdict.status), verdict.value, verdict.raw_answer), text


def print_changes(old: dict[str, Reading], new: dict[str, Reading], texts: dict[str, str]) -> None:
    """Print both readings of each reply whose status or value differs, and the number of such replies."""
    changed: Counter[str] = Counter()
    for key, now in new.items():
        before = old[key]
        if list(before[:2]) == list(now[:2]) and (now[0] or before[2] == now[2]):
            continue
        changed[f"{key.partition(' ')[0]}: {before[0]} -> {now[0]}"] += 1
        print(f"\n=== {key}\n  old: {before}\n  new: {tuple(now)}\n{texts[key]}")
    print(f"\n{sum(changed.values())} of {len(new):,} readings changed")
    for what, number in changed.most_common():
        print(f"{number:>7,} {what}")


if __name__ == "__main__":
    main()

"""Published numbers: facts that follow from the papers' tables, and places where a paper contradicts itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import pytest

from creval import registry
from creval.analysis.published_scores import publications
from creval.benchmarks.creval.release import TAXONOMY
from creval.benchmarks.ice_bench.tasks import TASKS, find_tasks
from creval.core.published_numbers import Publication, PublishedValue
from tests.benchmarks.ice_bench.paper import printed, raw_metrics
from tests.benchmarks.ice_bench.test_paper import COLUMNS, NUMBERS, SAID
from tests.e2e.paper import MODELS, TABLE_2_S, TABLE_S1

# Rows times columns of each table.
SIZES = {
    "creval": {"Table 2": 13 * 16, "Table 3": 6 * 6, "Table S1": 13 * 52},
    "complex-edit": {
        "Table 1": 2 * 3,
        "Table 2": 5 * 3 + 2,
        "Table 3": 6 * 5,
        **dict.fromkeys(("Table 5", "Table 6", "Table 7", "Table 8"), 7 * 12),
        "Table 9": 6,
        "Section 4.1.4": 2,
        "Section 4.1.5": 2,
    },
    "complexbench-edit": {"Table 2": 12 * 6, "Table 3": 12 * 10, "Table 4": 12 * 10, "Figure 6": 3},
}
CREVAL_NAMES = dict(
    zip(MODELS, ("OmniGen2", "Bagel", "Qwen-Image-Edit", "FLUX.1 Kontext [dev]", "GPT-Image-1"), strict=True)
)
HALF_A_HUNDREDTH = Decimal("0.005")


def mean(values: Sequence[Decimal]) -> Decimal:
    return sum(values, Decimal(0)) / len(values)


def cells(benchmark: str, *tables: str) -> dict[tuple[str, str, str, str], Decimal]:
    """Return the values of some tables by table, model, group and metric."""
    values = publications()[benchmark].select(tables)
    found = {(v.table, v.model, v.group, v.metric): Decimal(v.text) for v in values}
    assert len(found) == len(values)
    return found


@pytest.mark.parametrize("benchmark", SIZES)
def test_every_cell_is_there(benchmark: str) -> None:
    assert Counter(value.table for value in publications()[benchmark].values) == SIZES[benchmark]


@pytest.mark.parametrize("publication", publications().values(), ids=lambda one: str(one.benchmark))
def test_the_files_agree_with_each_other_and_with_the_benchmark(publication: Publication) -> None:
    schema = registry.benchmarks.get(publication.benchmark).protocol().schema
    raw = {metric for value in publication.values for metric in [value.metric] if value.table.startswith("Supp")}
    assert {value.table for value in publication.values} == set(publication.tables)
    assert set(publication.models) <= {value.model for value in publication.values}
    for value in publication.values:
        assert Decimal(value.text).is_finite()
        if publication.tables[value.table].beside_scores:
            assert value.metric in (*schema.columns, *raw), value
    for name, model in publication.models.items():
        for known in (name, *model.names):
            assert publication.find_model(known) == name
    for note in publication.notes:
        assert note.where
        assert note.note.endswith(".")


def test_crevals_score_follows_to_the_second_decimal_but_once() -> None:
    found = cells("creval", "2", "S1")
    apart = []
    for (table, model, group, metric), value in found.items():
        if metric == "S":
            parts = [found[table, model, group, name] for name in ("IF", "VC", "VQ")]
            score = Decimal("0.4") * parts[0] + Decimal("0.4") * parts[1] + Decimal("0.2") * parts[2]
            if abs(score - value) > HALF_A_HUNDREDTH:
                apart.append((table, model, group, value, score))
    assert apart == [("Table S1", "Bagel", "Customization", Decimal("67.36"), Decimal("67.352"))]


def test_crevals_two_tables_differ_in_one_cell() -> None:
    found = cells("creval", "2", "S1")
    apart = {
        (model, group, metric): (value, found["Table S1", model, group, metric])
        for (table, model, group, metric), value in found.items()
        if table == "Table 2" and value != found["Table S1", model, group, metric]
    }
    assert apart == {("Bagel", "Customization", "IF"): (Decimal("76.17"), Decimal("76.16"))}


def test_crevals_categories_are_means_of_their_dimensions() -> None:
    found = cells("creval", "S1")
    for category, dimensions in TAXONOMY.items():
        for (table, model, group, metric), value in found.items():
            if group == category:
                parts = [found[table, model, dimension, metric] for dimension in dimensions]
                assert abs(mean(parts) - value) <= 2 * HALF_A_HUNDREDTH, (model, group, metric)


def test_crevals_numbers_equal_a_second_transcription() -> None:
    found = cells("creval", "2", "S1")
    for group, metrics in TABLE_S1.items():
        for metric, row in metrics.items():
            for model, value in zip(MODELS, row, strict=True):
                assert float(found["Table S1", CREVAL_NAMES[model], group, metric]) == value
    for model, value in TABLE_2_S.items():
        assert float(found["Table 2", CREVAL_NAMES[model], "overall", "S"]) == value


def test_the_notes_on_creval() -> None:
    found = cells("creval", "2", "S1")
    scores = {model: value for (table, model, group, m), value in found.items() if (table, group, m) == PLACE_OF_S}
    assert sorted(scores, key=scores.__getitem__)[-3:] == ["Qwen-Image-Edit", "Gemini 2.5 Flash Image", "Seedream 4.0"]
    weak = [
        found["Table S1", model, group, "IF"]
        for group in ("Surreal Fantasy", "Informational & Narrative Expression")
        for model in ("UniWorld-V1", "ICEdit")
    ]
    assert sorted(weak) == [Decimal(text) for text in ("27.72", "31.45", "35.67", "38.09")]
    judged = publications()["creval"].select(["3"], None, ["S"])
    assert {value.judge for value in judged} == {"GPT-4o", "Qwen3-VL"}
    for value in judged:
        if value.judge == "GPT-4o":
            assert Decimal(value.text) != scores[value.model]


PLACE_OF_S = ("Table 2", "overall", "S")


def test_complex_edits_tables_follow_but_for_one_cell() -> None:
    """O is the mean of three, a difference is C8 - C1, and the average is over six models."""
    apart = set()
    for table in ("Table 5", "Table 6", "Table 7", "Table 8"):
        found = cells("complex-edit", table)
        models = {model for _, model, _, _ in found} - {"Average"}
        for (_, model, group, metric), value in found.items():
            wanted = [value]
            if metric == "O" and group != "C8-C1":
                wanted.append(mean([found[table, model, group, name] for name in ("IF", "IP", "PQ")]))
            if group == "C8-C1":
                wanted.append(found[table, model, "C8", metric] - found[table, model, "C1", metric])
            if model == "Average":
                wanted.append(mean([found[table, name, group, metric] for name in models]))
            if any(abs(other - value) > 2 * HALF_A_HUNDREDTH + Decimal("1e-9") for other in wanted):
                apart.add((table, model, group, metric))
    # All of them need 1.60 in the place of AnyEdit's 4.61.
    assert apart == {
        ("Table 5", "AnyEdit", "C8", "O"),
        ("Table 5", "Average", "C8", "IF"),
        ("Table 5", "Average", "C8-C1", "IF"),
    }


def test_complex_edits_tables_3_and_5_differ_as_noted() -> None:
    third, fifth = cells("complex-edit", "3"), cells("complex-edit", "5")
    apart = {
        (model, metric)
        for (_, model, group, metric), value in third.items()
        if metric in ("IF", "IP", "PQ", "O") and fifth["Table 5", model, group, metric] != value
    }
    hundredth = {("OmniGen", "PQ"), ("Imagen3", "PQ"), ("SeedEdit", "IF"), ("SeedEdit", "O"), ("Imagen3", "O")}
    assert apart == {("AnyEdit", "IF"), *hundredth}
    assert third["Table 3", "AnyEdit", "C8", "IF"] == Decimal("1.60")


def test_complexbenchs_averages_follow() -> None:
    for table, slack in (("2", Decimal("0.01")), ("4", Decimal("0.0001"))):
        found = cells("complexbench-edit", table)
        for (name, model, group, metric), value in found.items():
            if group == "overall":
                parts = [v for (_, m, g, c), v in found.items() if (m, c) == (model, metric) and g != "overall"]
                assert len(parts) == (5 if table == "2" else 4)
                assert abs(mean(parts) - value) <= slack, (name, model, metric)


def test_complexbenchs_best_model_is_not_the_best_everywhere() -> None:
    found = cells("complexbench-edit", "3")
    best: dict[str, tuple[Decimal, str]] = {}
    for (_, model, group, _), value in found.items():
        best[group] = max(best.get(group, (value, model)), (value, model))
    assert {group: model for group, (_, model) in best.items() if model != "Gemini-CoT"} == {
        "pose": "Gemini",
        "content": "Gemini",
        "change style": "Step1X-Edit",
    }


def test_ice_benchs_numbers_equal_a_second_transcription() -> None:
    values = publications()["ice-bench"].values
    raw = {
        (v.model, TASKS[v.group].number, v.metric): float(v.text) for v in values if v.table.startswith("Supplement")
    }
    assert raw == {(model, n, name): x for (model, n), of in raw_metrics().items() for name, x in of.items()}
    tables = {(v.table[-1], v.group, v.model, v.metric): float(v.text) for v in values if v.table.startswith("Table")}
    assert tables == {
        (cell.table, COLUMNS[cell.tasks], cell.model, cell.dimension): cell.value
        for cell in printed()
        if cell.value is not None
    }


def test_ice_benchs_models_with_their_tasks() -> None:
    publication = publications()["ice-bench"]
    with_numbers: dict[str, set[int]] = {}
    for value in publication.values:
        if value.table.startswith("Supplement"):
            with_numbers.setdefault(value.model, set()).add(TASKS[value.group].number)
    assert with_numbers == NUMBERS
    for name, model in publication.models.items():
        assert _numbers(model.facts["tasks with numbers"]) == NUMBERS[name]
        assert _numbers(model.facts["tasks in supplement Table 2"]) == SAID.get(name, set())


def _numbers(text: str) -> set[int]:
    return set() if text == "none" else {task.number for part in text.split(",") for task in find_tasks(part)}


def test_values_are_as_printed() -> None:
    (one,) = publications()["complex-edit"].select(["table 1"], None, ["correlation with people, IP"])[:1]
    assert isinstance(one, PublishedValue)
    assert (one.text, one.value, one.variant) == ("0.530", 0.53, "deterministic")

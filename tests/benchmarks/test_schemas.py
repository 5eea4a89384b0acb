"""Range and direction of every column, from the papers. A wrong one inverts a ranking or rescales differences."""

from __future__ import annotations

from creval import registry
from creval.benchmarks import get_protocol
from creval.benchmarks.ice_bench.protocol import RAW, RELEASED, IceBench
from creval.benchmarks.own_samples.protocol import OwnQuestions
from creval.core.schema import Digits, Metric, ScoreSchema

BETTER, WORSE = True, False  # what a higher value means
PERCENT, TEN, UNIT, COSINE = (0.0, 100.0), (0.0, 10.0), (0.0, 1.0), (-1.0, 1.0)
ICE = dict.fromkeys(("AES", "IMG", "PF", "SRC", "REF", "CTRL", "score"), (*UNIT, BETTER))
COLUMNS = {
    "creval": dict.fromkeys(("IF", "VC", "VQ", "S"), (*PERCENT, BETTER)),
    "complex-edit": dict.fromkeys(("IF", "IP", "PQ", "O"), (*TEN, BETTER)),
    "complex-edit-probability": dict.fromkeys(("IF", "IP", "PQ", "O"), (*TEN, BETTER)),
    "complexbench-edit": {"score": (*PERCENT, BETTER), "L1": (*UNIT, WORSE), "L2": (*UNIT, WORSE)},
    "complexbench-edit-all-boxes": {"score": (*PERCENT, BETTER), "L1": (*UNIT, WORSE), "L2": (*UNIT, WORSE)},
    "ice-bench": ICE,
    "questions": {"score": (*PERCENT, BETTER)},
    "viescore": dict.fromkeys(("SC", "PQ", "O"), (*TEN, BETTER)),
    "editscore": dict.fromkeys(("SC", "PQ", "O"), (*TEN, BETTER)),
    "clip": dict.fromkeys(("CLIP_img", "CLIP_dir"), (*COSINE, BETTER)),
}
COMPOSITES = {
    "creval": {"IF": 0.4, "VC": 0.4, "VQ": 0.2},
    "complex-edit": {"IF": 1 / 3, "IP": 1 / 3, "PQ": 1 / 3},
    "complex-edit-probability": {"IF": 1 / 3, "IP": 1 / 3, "PQ": 1 / 3},
}
RANKED_BY = {
    **dict.fromkeys(("complex-edit", "complex-edit-probability", "viescore", "editscore"), "O"),
    **dict.fromkeys(("complexbench-edit", "complexbench-edit-all-boxes", "ice-bench", "questions"), "score"),
    "creval": "S",
    "clip": "CLIP_img",
}
RAW_COLUMNS = {
    "aesthetic": (*TEN, BETTER),
    "imaging": (*PERCENT, BETTER),
    **dict.fromkeys(("clip_cap", "clip_src", "face", "style", "subject"), (*COSINE, BETTER)),
    **dict.fromkeys(("VLLM-QA", "colorfulness", "ssim"), (*UNIT, BETTER)),
    **dict.fromkeys(("l1_src", "pose", "canny", "depth", "grey"), (*UNIT, WORSE)),
}


def columns(schema: ScoreSchema) -> dict[str, tuple[float, float, bool]]:
    found = {name: schema.find_metric(name) for name in schema.columns}
    return {name: (metric.low, metric.high, metric.higher_is_better) for name, metric in found.items()}


def test_columns_of_all_protocols() -> None:
    own = [name for name in registry.protocols.names() if not registry.protocols.origin(name)]
    schemas = {name: get_protocol(name).schema for name in own}
    assert {name: columns(schema) for name, schema in schemas.items()} == COLUMNS
    assert {name: dict(s.composite.weights) for name, s in schemas.items() if s.composite} == COMPOSITES
    assert {name: schema.ranking_column for name, schema in schemas.items()} == RANKED_BY
    assert {name for name, schema in schemas.items() if schema.unsupported_value is not None} == {"ice-bench"}
    assert schemas["ice-bench"].unsupported_value == 0.0
    assert not any(metric.measured_only for schema in schemas.values() for metric in schema.metrics)


def test_columns_of_raw_metrics() -> None:
    """An unsupported task counts 0 in the score, but is no measurement of a raw metric."""
    raw = IceBench().with_weights(RAW).schema
    assert columns(raw) == RAW_COLUMNS | {"score": (*UNIT, BETTER)}
    assert {metric.name for metric in raw.metrics if metric.measured_only} == RAW_COLUMNS.keys()
    assert all(metric.worst_value is None for metric in raw.metrics if metric.name != "score")
    assert (raw.ranking_column, raw.unsupported_value) == ("score", 0.0)
    for weights in (RELEASED, {"AES": 1.0}):
        other = IceBench().with_weights(weights).schema
        assert (columns(other), other.ranking_column, other.unsupported_value) == (ICE, "score", 0.0)


def test_columns_of_own_questions() -> None:
    schema = OwnQuestions(["Kept", "Done"]).schema
    assert columns(schema) == dict.fromkeys(("Kept", "Done", "mean"), (*PERCENT, BETTER))
    assert schema.composite is not None
    assert schema.composite.weights == {"Kept": 0.5, "Done": 0.5}
    assert schema.ranking_column == "mean"


def test_a_missing_edit_has_the_worst_value_only_where_zero_is_the_worst() -> None:
    for low, high, better, measured_only, worst in (
        (*PERCENT, BETTER, False, 0.0),
        (*UNIT, WORSE, False, None),
        (*COSINE, BETTER, False, None),
        (*TEN, BETTER, True, None),
    ):
        assert Metric("x", "x", low, high, better, measured_only).worst_value == worst


def test_decimals_show_a_thousandth_of_the_range() -> None:
    assert [Metric("x", "x", *ends).digits for ends in (PERCENT, TEN, COSINE, UNIT)] == [
        Digits(2, 1),
        Digits(2, 2),
        Digits(4, 4),
        Digits(4, 4),
    ]

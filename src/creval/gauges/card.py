"""What a gauge measures, as data: its numbers, what it needs, its models and their licences."""

from __future__ import annotations

from dataclasses import dataclass

from creval.core.card import Metric


@dataclass(frozen=True)
class ModelCard:
    """A model that a gauge measures with.

    `use` is the word by which another is chosen (`--gauge clip=MODEL`), `default` the one that is
    taken otherwise. `comes` tells from where: the `hub` (where `file` is one of its files), its
    `library`, which downloads it (to `file`, below the user's home, if that is known) or is
    `shipped` with it; or from nobody: it must be `given`, or can be (`optional`).
    """

    use: str
    default: str
    megabytes: int
    licence: str
    home: str
    comes: str = "hub"
    file: str = "config.json"


@dataclass(frozen=True)
class GaugeCard:
    """A gauge: what it is called, its values with their ranges, what it needs, and what it takes.

    It `needs` a source, a control (a source that shows lines, depth, a pose or grey), a reference,
    captions or texts; a mask is used where there is one. `extra` is what `pip install
    'creval[EXTRA]'` brings for it, `packages` are the modules behind that and `licence` theirs,
    where it is not one for any use.
    """

    name: str
    title: str
    values: tuple[Metric, ...]
    unit: str
    needs: tuple[str, ...] = ()
    models: tuple[ModelCard, ...] = ()
    extra: str = ""
    packages: tuple[str, ...] = ()
    licence: str = ""
    paper: str = ""

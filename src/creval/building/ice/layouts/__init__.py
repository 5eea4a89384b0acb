"""Importers of public datasets as sources for ICE-Bench items. To add one, write a module and list it here."""

from __future__ import annotations

from collections.abc import Mapping

from creval.building.ice.layouts.base import LayoutReader
from creval.building.ice.layouts.coco import read_coco
from creval.building.ice.layouts.dreambooth import read_dreambooth
from creval.building.ice.layouts.viton_hd import read_viton_hd

LAYOUTS: Mapping[str, LayoutReader] = {"coco": read_coco, "dreambooth": read_dreambooth, "viton-hd": read_viton_hd}

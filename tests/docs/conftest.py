from __future__ import annotations

import pytest

from tests.docs.inputs import Inputs


@pytest.fixture(scope="session")
def inputs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """The files that commands of the documentation read, shared by all pages."""
    return Inputs(tmp_path_factory.mktemp("docs"), lambda: request.getfixturevalue("demo"))

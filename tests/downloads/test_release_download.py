"""Downloads of releases: from the hub and from GitHub, interrupted, redirected, damaged, missing, without network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from yarl import URL

from creval.benchmarks import open_benchmark
from creval.benchmarks.creval.release import SOURCE as CREVAL
from creval.core.errors import CrevalError
from creval.core.release_source import GITHUB, HUB, ReleaseSource
from creval.downloads import transfer
from creval.downloads.release_download import MANIFEST, download_release
from creval.downloads.repositories import GithubRepository
from creval.downloads.transfer import MissingError, UnreachableError
from tests.commands import creval, parsed, right, wrong
from tests.downloads.servers import NEW, OLD, Server, server, sha256, zipped

SMALL, LARGE = b"small\n", bytes(range(256)) * 4000
SOURCE = ReleaseSource(HUB, "people/bench", ("data/*",), "data/", contents="the folder data")
FILES = {"README.md": b"read me", "data/a.json": SMALL, "data/sub/b.bin": LARGE, "data/c.txt": b""}
WANTED = {"data/a.json": SMALL, "data/sub/b.bin": LARGE, "data/c.txt": b""}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait between attempts."""
    monkeypatch.setattr(transfer, "PAUSE", 0.01)
    monkeypatch.delenv("HF_TOKEN", raising=False)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with server(commits={OLD: dict(FILES)}, large={"data/sub/b.bin"}) as made:
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        yield made


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def state(folder: Path) -> dict[str, object]:
    return dict(json.loads((folder / MANIFEST).read_text()))


@pytest.mark.usefixtures("hub")
def test_the_needed_files_are_downloaded_and_recorded(tmp_path: Path) -> None:
    said: list[str] = []
    done = download_release(SOURCE, tmp_path, announce=said.append)
    assert content(tmp_path) == WANTED
    assert said == [f"3 files (1.0 MB) from https://huggingface.co/datasets/people/bench at {OLD}, license cc-by-4.0"]
    held = state(tmp_path)
    assert (held["commit"], held["revision"], held["complete"]) == (OLD, "main", True)
    assert held["files"] == [{"path": path, "size": len(data), "sha256": sha256(data)} for path, data in WANTED.items()]
    assert [file.path for file in done.files] == list(WANTED)


def test_a_finished_download_is_checked_and_asks_nothing(hub: Server, tmp_path: Path) -> None:
    download_release(SOURCE, tmp_path)
    hub.branches["main"] = NEW  # moves on
    hub.requests.clear()
    assert download_release(SOURCE, tmp_path).commit == OLD
    assert hub.requests == []
    (tmp_path / "data/a.json").write_bytes(b"mine")
    with pytest.raises(CrevalError, match=r"a\.json was changed since it was downloaded"):
        download_release(SOURCE, tmp_path)


def test_a_deleted_file_is_downloaded_again_from_the_same_commit(hub: Server, tmp_path: Path) -> None:
    download_release(SOURCE, tmp_path)
    hub.branches["main"], hub.commits[NEW] = NEW, {"data/a.json": b"other"}
    (tmp_path / "data/a.json").unlink()
    assert download_release(SOURCE, tmp_path).commit == OLD
    assert content(tmp_path) == WANTED
    assert hub.started["data/sub/b.bin"] == [0]


def test_a_lost_connection_is_continued(hub: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.cut["data/sub/b.bin"] = 500_000
    heal = transfer.Transfer._receive

    async def receive(self: transfer.Transfer, file: transfer.RemoteFile, part: Path, count: object) -> None:
        try:
            await heal(self, file, part, count)  # type: ignore[arg-type]
        finally:
            if file.path == "data/sub/b.bin":
                hub.cut.clear()

    monkeypatch.setattr(transfer.Transfer, "_receive", receive)
    download_release(SOURCE, tmp_path)
    assert content(tmp_path) == WANTED
    first, second = hub.started["data/sub/b.bin"]
    assert first == 0
    assert 0 < second <= 500_000


def test_an_interrupted_download_continues_at_its_commit(hub: Server, tmp_path: Path) -> None:
    hub.cut["data/sub/b.bin"] = 300_000
    with pytest.raises(CrevalError, match="127"):
        download_release(SOURCE, tmp_path)
    assert state(tmp_path)["complete"] is False
    part = tmp_path / "data/sub/.b.bin.part"
    arrived = part.stat().st_size
    assert 0 < arrived <= 300_000
    hub.cut.clear()
    hub.started.clear()
    hub.branches["main"], hub.commits[NEW] = NEW, {"data/a.json": b"other"}
    assert download_release(SOURCE, tmp_path).commit == OLD
    assert content(tmp_path) == WANTED
    assert hub.started["data/sub/b.bin"] == [arrived]


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("part", [b"x" * 1000, LARGE[:1000] + b"x", LARGE + b"more"], ids=["other", "damaged", "long"])
def test_a_part_that_does_not_fit_is_repeated(tmp_path: Path, part: bytes) -> None:
    (tmp_path / "data/sub").mkdir(parents=True)
    (tmp_path / "data/sub/.b.bin.part").write_bytes(part)
    download_release(SOURCE, tmp_path)
    assert content(tmp_path) == WANTED


def test_a_server_without_ranges_sends_the_whole_file(hub: Server, tmp_path: Path) -> None:
    hub.ranges = False
    (tmp_path / "data/sub").mkdir(parents=True)
    (tmp_path / "data/sub/.b.bin.part").write_bytes(LARGE[:1000])
    received: list[int] = []
    download_release(SOURCE, tmp_path, watch=lambda done, _total, _files: received.append(done))
    assert content(tmp_path) == WANTED
    assert received[-1] == sum(map(len, WANTED.values()))


@pytest.mark.parametrize("path", ["data/a.json", "data/sub/b.bin"], ids=["in Git", "outside Git"])
def test_a_wrong_checksum_is_an_error(hub: Server, tmp_path: Path, path: str) -> None:
    hub.wrong.add(path)
    with pytest.raises(CrevalError, match=f"{path} from 127.0.0.1 has a wrong checksum"):
        download_release(SOURCE, tmp_path)
    assert path not in content(tmp_path)
    assert state(tmp_path)["complete"] is False


def test_a_file_larger_than_stated_is_an_error(hub: Server, tmp_path: Path) -> None:
    hub.longer = b"more"
    with pytest.raises(CrevalError, match="is larger than"):
        download_release(SOURCE, tmp_path)
    assert not content(tmp_path)


def test_a_missing_file_is_named(hub: Server, tmp_path: Path) -> None:
    hub.lost.add("data/a.json")
    with pytest.raises(MissingError, match=rf"127\.0\.0\.1 has no /datasets/people/bench/resolve/{OLD}/data/a\.json"):
        download_release(SOURCE, tmp_path)


@pytest.mark.usefixtures("hub")
def test_a_missing_release_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"huggingface\.co/datasets/people/bench has no data/\* at revision v9"):
        download_release(SOURCE, tmp_path / "new", revision="v9")
    assert not (tmp_path / "new").exists()


def test_the_next_revision_is_tried_if_the_first_lacks_the_files(hub: Server, tmp_path: Path) -> None:
    """The hub converts datasets to Parquet on a branch of their own."""
    hub.branches["refs/convert/parquet"] = NEW
    hub.commits[NEW] = {"default/test_real/0000.parquet": b"PAR1"}
    source = ReleaseSource(HUB, "people/bench", ("*.parquet",), "", revisions=("main", "refs/convert/parquet"))
    assert download_release(source, tmp_path).commit == NEW
    assert content(tmp_path) == {"default/test_real/0000.parquet": b"PAR1"}


def test_a_commit_can_be_chosen(hub: Server, tmp_path: Path) -> None:
    hub.commits[NEW] = {"data/a.json": b"new"}
    hub.branches["main"] = NEW
    assert download_release(SOURCE, tmp_path / "old", revision=OLD).commit == OLD
    assert content(download_release(SOURCE, tmp_path / "new").folder) == {"data/a.json": b"new"}
    with pytest.raises(CrevalError, match=f"contains the commit {OLD}"):
        download_release(SOURCE, tmp_path / "old", revision=NEW)


@pytest.mark.usefixtures("hub")
def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = download_release(SOURCE, tmp_path / "new", dry_run=True)
    assert done.plan.startswith("3 files (1.0 MB)")
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("hub")
def test_existing_files_of_others_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.json").write_bytes(b"mine")
    with pytest.raises(CrevalError, match=r"a\.json exists with different content"):
        download_release(SOURCE, tmp_path)
    assert (tmp_path / "data/a.json").read_bytes() == b"mine"


@pytest.mark.usefixtures("hub")
def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CrevalError, match="is a link"):
        download_release(SOURCE, tmp_path / "out")
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("path", ["data/../../evil", "data//etc/passwd", "data/a\\b", "data/.hidden", "data/a\nb"])
def test_a_path_outside_of_the_folder_is_refused(hub: Server, tmp_path: Path, path: str) -> None:
    hub.commits[OLD][path] = b"evil"
    with pytest.raises(CrevalError, match="a file of the release"):
        download_release(SOURCE, tmp_path / "out")
    assert not content(tmp_path)


def test_the_key_is_sent_to_the_hub_only_and_never_shown(
    hub: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secretsecret")
    with server(commits=hub.commits) as cdn:
        hub.cdn = cdn.url
        download_release(SOURCE, tmp_path)
        assert set(cdn.keys.values()) == {""}
    assert set(hub.keys.values()) == {"Bearer hf_secretsecret"}
    assert "hf_secretsecret" not in (tmp_path / MANIFEST).read_text()


def test_a_repository_with_conditions_says_what_to_do(hub: Server, tmp_path: Path) -> None:
    hub.gated = True
    with pytest.raises(CrevalError, match=r"restricted.*accept them there.*HF_TOKEN"):
        download_release(SOURCE, tmp_path)


def test_without_network_it_says_what_to_download_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(UnreachableError) as caught:
        download_release(CREVAL, tmp_path / "CREval")
    assert str(caught.value).endswith(
        "Without network, download the folder CREval-Bench, as bench, from "
        f"https://huggingface.co/datasets/ChonghuinanWang/CREval elsewhere, and put it into {tmp_path / 'CREval'}."
    )
    assert not (tmp_path / "CREval").exists()


def test_a_public_server_cannot_lead_into_the_local_network(
    hub: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def public(_: str) -> bool:
        return False

    monkeypatch.setattr(transfer, "is_local_host", public)
    with pytest.raises(CrevalError, match="address not allowed"):
        download_release(SOURCE, tmp_path)
    assert hub.requests == []


@pytest.mark.parametrize("target", ["ftp://host/x", "http://host/x", "https://user:word@host/x", "", "https://[::1/x"])
def test_invalid_redirects_are_refused(target: str) -> None:
    with pytest.raises(CrevalError, match="redirects to an"):
        transfer.Transfer(URL("https://hub"))._redirected(URL("https://hub/a"), target)


def test_an_archive_of_the_hub_is_unpacked(hub: Server, tmp_path: Path) -> None:
    items = {"data/data.jsonl": b"{}", "data/images/1.png": b"png", "__MACOSX/data/._data.jsonl": b"junk"}
    hub.commits[OLD] = {"data.zip": zipped(items), "models.zip": b"large"}
    source = ReleaseSource(HUB, "people/bench", ("data.zip",), "", archives=("data.zip",))
    download_release(source, tmp_path)
    assert content(tmp_path) == {"data/data.jsonl": b"{}", "data/images/1.png": b"png"}
    assert [file["path"] for file in state(tmp_path)["files"]] == ["data/data.jsonl", "data/images/1.png"]  # type: ignore[attr-defined]
    hub.requests.clear()
    download_release(source, tmp_path)
    assert hub.requests == []


GITHUB_SOURCE = ReleaseSource(
    GITHUB,
    "people/bench",
    ("data/*",),
    "",
    sha256={"data/a.json": sha256(SMALL)},
    contents="the folder data",
    license="MIT",
)


@pytest.fixture
def github() -> Iterator[tuple[Server, GithubRepository]]:
    with server(commits={OLD: dict(FILES)}) as made:
        yield made, GithubRepository(GITHUB_SOURCE, api=URL(made.url), site=URL(made.url))


def test_an_archive_of_github_is_found_behind_a_redirect(
    github: tuple[Server, GithubRepository], tmp_path: Path
) -> None:
    said: list[str] = []
    download_release(GITHUB_SOURCE, tmp_path, repository=github[1], announce=said.append)
    assert content(tmp_path) == WANTED
    assert said == [f"an archive of unknown size from https://github.com/people/bench at {OLD}, license MIT"]
    assert github[0].requests == [
        "/repos/people/bench/commits/main",
        f"/people/bench/archive/{OLD}.zip",
        f"/codeload/{OLD}.zip",
    ]


def test_a_commit_of_github_needs_no_further_request(github: tuple[Server, GithubRepository], tmp_path: Path) -> None:
    download_release(GITHUB_SOURCE, tmp_path, repository=github[1], revision=OLD)
    assert [path for path in github[0].requests if path.startswith("/repos")] == []


def test_an_interrupted_archive_continues(github: tuple[Server, GithubRepository], tmp_path: Path) -> None:
    made, repository = github
    made.cut["archive"] = 400
    with pytest.raises(CrevalError):
        download_release(GITHUB_SOURCE, tmp_path, repository=repository)
    made.cut.clear()
    made.started.clear()
    download_release(GITHUB_SOURCE, tmp_path, repository=repository)
    assert content(tmp_path) == WANTED
    assert made.started["archive"] == [400]


def test_known_checksums_of_an_archive_are_checked(github: tuple[Server, GithubRepository], tmp_path: Path) -> None:
    github[0].commits[OLD]["data/a.json"] = b"changed"
    with pytest.raises(CrevalError, match=r"data/a\.json from .* has a wrong checksum"):
        download_release(GITHUB_SOURCE, tmp_path, repository=github[1])
    del github[0].commits[OLD]["data/a.json"]
    with pytest.raises(CrevalError, match=r"lacks data/a\.json"):
        download_release(GITHUB_SOURCE, tmp_path / "other", repository=github[1])


def test_a_missing_commit_of_github_is_named(github: tuple[Server, GithubRepository], tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=NEW):
        download_release(GITHUB_SOURCE, tmp_path, repository=github[1], revision=NEW)


@pytest.mark.usefixtures("hub")
def test_another_release_in_the_folder_is_refused(tmp_path: Path) -> None:
    download_release(SOURCE, tmp_path)
    with pytest.raises(CrevalError, match=r"contains a download of https://huggingface\.co/datasets/people/bench"):
        download_release(CREVAL, tmp_path)


@pytest.mark.parametrize("text", ["[]", "{}", '{"commit": 1}'])
def test_a_damaged_manifest_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(CrevalError, match="is not a manifest of a download"):
        download_release(SOURCE, tmp_path)


def test_the_command_downloads_a_release_that_creval_reads(hub: Server, tmp_path: Path, miniature: Path) -> None:
    files = [path for path in (miniature / "bench").rglob("*") if path.is_file()]
    hub.commits[OLD] = {
        f"CREval-Bench/{path.relative_to(miniature / 'bench').as_posix()}": path.read_bytes() for path in files
    }
    done = creval("get", "creval", "--out", tmp_path / "CREval")
    assert done.returncode == 0, done.stderr
    assert f"downloading {len(files)} files" in done.stderr
    assert f"of commit {OLD} are in" in done.stdout
    assert len(open_benchmark(tmp_path / "CREval").dataset.samples) == len(open_benchmark(miniature).dataset.samples)
    again = parsed("get", "creval", "--out", tmp_path / "CREval")
    assert (again["files"], again["commit"], again["license"]) == (len(files), OLD, "MIT")


def test_the_command_lists_all_releases() -> None:
    listed = {entry["benchmark"]: entry for entry in parsed("get")["releases"]}
    assert set(listed) == {"creval", "complex-edit", "complexbench-edit", "ice-bench"}
    assert all(entry["address"].startswith("https://") and entry["layout"] for entry in listed.values())
    assert "https://huggingface.co/datasets/ali-vilab/ICE-Bench" in right("get")
    assert "give the folder" in wrong("get", "creval")
    assert "there is no benchmark with a release 'nothing'" in wrong("get", "nothing", "--out", "x")
    assert "are for one benchmark" in wrong("get", "--out", "x")


@pytest.mark.usefixtures("hub")
def test_it_works_in_a_running_event_loop(tmp_path: Path) -> None:
    """A notebook's cells run inside an event loop."""

    async def cell() -> str:
        return download_release(SOURCE, tmp_path).commit

    assert asyncio.run(cell()) == OLD

"""Throughput of `creval judge` compared with the machine's limit and the openai SDK.

960 calls of about 2 MB (60 samples, 16 questions, one per call), 64 concurrent, to a server that accepts any
request and answers immediately or after 200 ms. All clients take turns; ratios are medians over the turns.
The limit is measured with `limit_client` if the shared tools and a C compiler are available, otherwise with
threads that send prebuilt bytes.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

import shared_data

if TYPE_CHECKING:
    from creval.judges.base import JudgeRequest, JudgeResponse

SAMPLES, QUESTIONS, AT_ONCE = 60, 16, 64
CALLS = SAMPLES * QUESTIONS
HERE = Path(__file__).parent
LIMIT = HERE / "limit.py"
ANSWER = {
    "choices": [
        {"message": {"content": '{"answer": "Yes", "explanation": "it can be seen"}'}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 1500, "completion_tokens": 20},
}


def images(folder: Path) -> list[Path]:
    """Return real images if available, otherwise generated ones of the same size."""
    found = shared_data.creval_images()
    if found:
        # The largest images, so that two of them make a body of 2 MB.
        found.sort(key=lambda path: -path.stat().st_size)
        sizes = [path.stat().st_size for path in found]
        return found[: max(n for n in range(1, len(found)) if sum(sizes[:n]) >= n * 750_000)]
    generator = np.random.default_rng(0)
    made = []
    for number in range(20):
        small = generator.integers(0, 255, (80, 80, 3), dtype=np.uint8)
        image = Image.fromarray(small).resize((1024, 1024), Image.Resampling.BICUBIC)
        noise = generator.integers(-25, 25, (1024, 1024, 3))
        noisy = np.clip(np.asarray(image).astype(int) + noise, 0, 255).astype(np.uint8)
        made.append(folder / f"made_{number}.jpg")
        Image.fromarray(noisy).save(made[-1], quality=92)
    return made


def link_or_copy(image: Path, place: Path) -> None:
    """Link an image to another name, or copy it."""
    try:
        place.hardlink_to(image)
    except OSError:
        shutil.copyfile(image, place)


def write_benchmark(folder: Path, found: list[Path], samples: int, questions: int) -> None:
    """Write a benchmark in CREval's layout, and the edits of one model."""
    bench, edits = folder / "bench", folder / "edits" / "Model"
    for path in (bench / "image", edits, *(bench / "questions_all" / m for m in ("IF", "VC", "VQ"))):
        path.mkdir(parents=True)
    entries = []
    for number in range(samples):
        stem = f"s{number:04d}"
        source, edit = found[number % len(found)], found[(number * 7 + 3) % len(found)]
        link_or_copy(source, bench / "image" / f"{stem}{source.suffix}")
        link_or_copy(edit, edits / f"{stem}{edit.suffix}")
        entries.append(
            {
                "id": number,
                "input_prompt": "Make it so.",
                "class_id": 1 + number % 9,
                "input_image": [f"image/{stem}{source.suffix}"],
                "input_image_resolution": [0, 0],
            }
        )
        shares = {"IF": questions - 2 * (questions // 3), "VC": questions // 3, "VQ": questions // 3}
        for metric, count in shares.items():
            asked = [
                {
                    "question_id": f"Q{n}",
                    "question": f"Is requirement {n} of {metric} met?",
                    "choices": ["Yes", "No"],
                    "answer": "Yes",
                    "weight": 1,
                    "thinking_process": "",
                }
                for n in range(1, count + 1)
            ]
            path = bench / "questions_all" / metric / f"{stem}.json"
            path.write_text(json.dumps({"quality_check_questions": asked}))
    (bench / "instruction.json").write_text(json.dumps(entries))


def write_bodies(folder: Path, found: list[Path]) -> list[int]:
    """Write the bytes of a request up to the question's text, for each sample. Return their sizes."""
    folder.mkdir()
    sizes = []
    for number in range(SAMPLES):
        parts = [b'{"model":"m","messages":[{"role":"user","content":[']
        for path in (found[number % len(found)], found[(number * 7 + 3) % len(found)]):
            parts.append(b'{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,')
            parts.append(base64.b64encode(path.read_bytes()))
            parts.append(b'"}},')
        parts.append(b'{"type":"text","text":"')
        content = b"".join(parts)
        (folder / f"{number}.pre").write_bytes(content)
        sizes.append(len(content))
    return sizes


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def compiled(folder: Path) -> dict[str, Path]:
    """Compile the shared tools. Returns None if they or a compiler are missing."""
    tools: dict[str, Path] = {}
    compiler = shutil.which("gcc") or shutil.which("cc")
    for name in ("fakeserver", "limit_client"):
        source = shared_data.SHARED / "tools" / f"{name}.c"
        if compiler is None or not source.is_file():
            return {}
        tools[name] = folder / name
        command = [compiler, "-O2", "-pthread", "-w", "-o", str(tools[name]), str(source)]
        subprocess.run(command, check=True)
    return tools


class Server:
    """The endpoint, with a settable latency."""

    def __init__(self, port: int) -> None:
        self.port = port

    def set_latency(self, milliseconds: int) -> None:
        url = f"http://127.0.0.1:{self.port}/ctl?lat={milliseconds}"
        urllib.request.urlopen(url).read()


@contextmanager
def serving(tools: dict[str, Path], folder: Path) -> Iterator[Server]:
    port = free_port()
    answer = folder / "answer.json"
    answer.write_text(json.dumps(ANSWER))
    command = [str(tools["fakeserver"])] if tools else [sys.executable, str(LIMIT), "serve"]
    command += [str(port), str(answer)]
    process = subprocess.Popen(command)
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield Server(port)
    finally:
        process.kill()
        process.wait()


def finished(command: list[str], folder: Path) -> dict[str, Any]:
    """Run a command that prints JSON last. Return the JSON with the command's time and memory."""
    start = time.perf_counter()
    with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        text, errors = out.read(), err.read()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{text}\n{errors}")
    last = text.strip().rpartition("\n")[2]
    facts: dict[str, Any] = json.loads(last) if last.startswith("{") else {}
    facts["command_wall"] = wall
    facts["command_cpu"] = usage.ru_utime + usage.ru_stime
    facts["peak_mb"] = usage.ru_maxrss / 1024
    return facts


class Bench:
    """Clients to compare. Each prints its time."""

    def __init__(self, folder: Path, tools: dict[str, Path], server: Server) -> None:
        self.folder, self.tools, self.server = folder, tools, server
        self._runs = 0

    def _arguments(self, name: str, *more: str) -> list[str]:
        self._runs += 1
        where = self.folder / name
        judge = f"openai:m@http://127.0.0.1:{self.server.port}/v1"
        return [
            "judge",
            str(where),
            "--edits",
            str(where / "edits" / "Model"),
            "--judge",
            judge,
            "--run",
            str(self.folder / f"run{self._runs}"),
            "--ask",
            "question",
            "--concurrency",
            str(AT_ONCE),
            *more,
        ]

    def creval(self, name: str = "sixty", *more: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "creval", *self._arguments(name, *more)]
        return finished(command, self.folder)

    def creval_inside(self) -> dict[str, Any]:
        """Measure `creval judge` from the first call to the last."""
        arguments = self._arguments("sixty", "--image-fit", "original", "--no-cache")
        return finished([sys.executable, str(HERE / "judge.py"), "--inside", *arguments], self.folder)

    def limit(self) -> dict[str, Any]:
        counts = [str(self.server.port), str(SAMPLES), str(QUESTIONS), str(AT_ONCE)]
        bodies = str(self.folder / "bodies")
        if self.tools:
            return finished([str(self.tools["limit_client"]), *counts, bodies], self.folder)
        return finished([sys.executable, str(HERE / "limit.py"), "ask", *counts, bodies], self.folder)

    def sdk(self) -> dict[str, Any]:
        command = [sys.executable, str(HERE / "judge.py"), "--sdk", str(self.server.port)]
        return finished([*command, str(self.folder / "sixty")], self.folder)


def inside(arguments: list[str]) -> None:
    """Make the calls, and print the time from the first call to the last."""
    import resource

    from creval.benchmarks import open_benchmark
    from creval.calls.settings import Settings
    from creval.judges.chat import ChatJudge
    from creval.judging.judge_run import JudgeRun

    arguments = [part for part in arguments if part != "--no-cache"]
    given = dict(zip(arguments[2::2], arguments[3::2], strict=True))
    # Some requests are equal: with the answer cache, they would be sent only once.
    settings = Settings(batch_by="question", image_fit="original", concurrency=AT_ONCE, cache=False)
    benchmark = open_benchmark(arguments[1])
    judging = JudgeRun(benchmark, [given["--edits"]], given["--judge"], given["--run"], settings)
    began: list[float] = []
    whole = ChatJudge.ask

    def first(self: ChatJudge, request: JudgeRequest) -> Coroutine[None, None, JudgeResponse]:
        began.append(time.perf_counter())
        ChatJudge.ask = whole  # type: ignore[method-assign]
        return whole(self, request)

    ChatJudge.ask = first  # type: ignore[method-assign]
    before = resource.getrusage(resource.RUSAGE_SELF)
    done = judging.run()
    wall, after = time.perf_counter() - began[0], resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"wall": wall, "cpu": cpu, "answered": done.progress.answered}))


def sdk(port: int, folder: Path) -> None:
    """Make the same calls with the openai SDK and a semaphore. Base64 is encoded once per sample."""
    import asyncio
    import resource

    from openai import AsyncOpenAI

    async def everything() -> None:
        client = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="x", timeout=600)
        slots = asyncio.Semaphore(AT_ONCE)
        edits = sorted((folder / "edits" / "Model").iterdir())
        sources = sorted((folder / "bench" / "image").iterdir())

        async def one(content: list[Any], question: int) -> None:
            async with slots:
                text = {"type": "text", "text": f"Is requirement {question} met? Answer in JSON."}
                messages: Any = [{"role": "user", "content": [*content, text]}]
                await client.chat.completions.create(model="m", messages=messages)

        tasks = []
        for source, edit in zip(sources, edits, strict=True):
            content: list[Any] = []
            for path in (source, edit):
                data = base64.b64encode(path.read_bytes()).decode()
                url = {"url": f"data:image/jpeg;base64,{data}"}
                content.append({"type": "image_url", "image_url": url})
            tasks += [asyncio.create_task(one(content, n)) for n in range(QUESTIONS)]
        await asyncio.gather(*tasks)

    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    asyncio.run(everything())
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"wall": wall, "cpu": cpu}))


def fitting(folder: Path) -> float:
    """Return the seconds to resize and encode all images, with the concurrency of judging."""
    from concurrent.futures import ThreadPoolExecutor

    from creval.core.images import encode_image
    from creval.providers.vision import fit_within_square

    paths = [*(folder / "bench" / "image").iterdir(), *(folder / "edits" / "Model").iterdir()]
    start = time.perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda path: encode_image(path, fit_within_square(768)), paths))
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = images(folder)
        write_benchmark(folder / "sixty", found, SAMPLES, QUESTIONS)
        write_benchmark(folder / "many", found, 15 * SAMPLES, QUESTIONS)
        sizes = write_bodies(folder / "bodies", found)
        tools = compiled(folder)
        print(
            f"{CALLS} calls of {statistics.mean(sizes) / 1e6:.1f} MB, {AT_ONCE} at once; "
            f"limit: {'limit_client' if tools else 'threads in Python'}"
        )
        with serving(tools, folder) as server:
            measure(Bench(folder, tools, server), rounds)


def measure(bench: Bench, rounds: int) -> None:
    original = ("sixty", "--image-fit", "original", "--no-cache")
    for latency in (200, 0):
        bench.server.set_latency(latency)
        ratios: dict[str, list[float]] = {"inside": [], "command": [], "sdk": [], "cpu": [], "mb": []}
        for _ in range(rounds):
            limit = float(bench.limit()["wall"])
            asked = bench.creval_inside()
            if asked["answered"] != CALLS:
                raise SystemExit(f"only {asked['answered']} of {CALLS} calls were answered")
            whole = bench.creval(*original)
            other = bench.sdk()
            ratios["inside"].append(limit / asked["wall"])
            ratios["command"].append(limit / whole["command_wall"])
            ratios["sdk"].append(other["wall"] / asked["wall"])
            ratios["cpu"].append(asked["cpu"] / CALLS * 1000)
            ratios["mb"].append(whole["peak_mb"])
        median = {key: statistics.median(values) for key, values in ratios.items()}
        wanted = ("85 %", "60 %", "") if latency else ("20 %", "", "6")
        print(f"\nat {latency} ms")
        for words, key, scale, unit, want in (
            ("of the limit, without start-up", "inside", 100, "%", wanted[0]),
            ("of the limit, whole command", "command", 100, "%", wanted[1]),
            ("times the openai SDK", "sdk", 1, "", wanted[2]),
            ("CPU seconds for 1,000 calls", "cpu", 1, "", "at most 2.5"),
            ("peak memory", "mb", 1, "MB", "at most 300"),
        ):
            shown = f"{scale * median[key]:.1f} {unit}"
            print(f"  {words:32}{shown:>10}   {want and f'wanted: {want}'}")
    bench.server.set_latency(0)
    many = bench.creval("many", "--image-fit", "original", "--no-cache")
    print(f"\npeak memory of {15 * SAMPLES} samples: {many['peak_mb']:.0f} MB")
    bench.server.set_latency(200)
    alone = fitting(bench.folder / "sixty")
    asking, both = bench.creval(*original), bench.creval("sixty", "--image-fit", "768")
    print(
        f"fitting {2 * SAMPLES} pictures {alone:.1f} s ({1000 * alone / 2 / SAMPLES:.0f} ms each, "
        f"in {os.cpu_count()} threads), asking {asking['command_wall']:.1f} s, "
        f"both together {both['command_wall']:.1f} s"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
    elif sys.argv[1:2] == ["--sdk"]:
        sdk(int(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()

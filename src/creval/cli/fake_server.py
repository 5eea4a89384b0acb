"""`creval fake-server`: an endpoint for rehearsals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import console

if TYPE_CHECKING:
    from creval.testing.fake_chat_server import FakeServer


def fake_server(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 selects a free one.")] = 8099,
    latency: Annotated[float, typer.Option(min=0, help="Milliseconds before a reply.")] = 0.0,
    faults: Annotated[
        float, typer.Option(min=0, max=1, help="Share of faulty replies. All kinds of faults occur.")
    ] = 0.0,
    never: Annotated[str, typer.Option(metavar="WORDS", help="Never answer questions that contain these words.")] = "",
    declines: Annotated[
        float, typer.Option(min=0, max=1, help="Share of images for which the server declines to write texts.")
    ] = 0.0,
    stall: Annotated[float, typer.Option(min=0, help="Seconds that a hanging reply takes.")] = 600.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of answers and faults.")] = 0,
) -> None:
    """Imitate judges, text models and remote editors, for rehearsals: random answers and texts, marked edits."""
    import asyncio

    from creval.core.errors import CrevalError
    from creval.testing.fake_chat_server import FakeServer

    server = FakeServer(
        seed=seed,
        latency=latency / 1000,
        fault_rate=faults,
        skipped_phrase=never,
        decline_rate=declines,
        stall_seconds=stall,
        marked=True,
    )
    try:
        asyncio.run(_serve(server, port))
    except OSError as error:
        raise CrevalError(f"cannot listen on port {port}: {error.strerror or error}.") from error


async def _serve(server: FakeServer, port: int) -> None:
    import asyncio

    from aiohttp import web

    runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        taken = runner.addresses[0][1]
        url = f"http://127.0.0.1:{taken}"
        console.print_note(f"serving {url}/v1 (counters at {url}/stats); Ctrl-C stops it.")
        console.print_note(f"try: creval judge BENCH --edits DIR --judge rehearsal:fake@{url}/v1 --run RUN")
        console.print_note(f"or: creval edit BENCH --editor rehearsal:openai:gpt-image-1@{url}/v1 --out DIR")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()

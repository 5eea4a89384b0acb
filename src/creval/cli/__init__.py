"""The command line. Most commands have a module of their own.

Commands on one topic share one, such as `analysis_commands`.
"""

from __future__ import annotations

import io
import sqlite3
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from creval import __version__
from creval.cli import (
    analysis_commands,
    bench,
    build,
    cache_commands,
    change_commands,
    config,
    console,
    demo,
    docs,
    edit,
    fake_server,
    get_command,
    init,
    judge,
    measure,
    output_commands,
    prompts,
    published_command,
    replay,
    score,
)
from creval.cli.closed_output import OutputClosedError, discard_output, watch_output
from creval.cli.config_file import CONFIG_FILE, read_config
from creval.cli.flags import current_spelling, with_flags
from creval.cli.help_text import HELP_SETTINGS, HelpCommand, HelpGroup
from creval.core.errors import CrevalError
from creval.core.formatting import end_sentence, escape_control
from creval.core.redaction import hide_secrets

# Commands by purpose.
_COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Start": (demo.demo, docs.docs, get_command.get, bench.bench, published_command.published, config.config),
    "Run": (edit.edit, judge.judge, replay.replay, measure.measure),
    "Understand": (
        score.score,
        analysis_commands.compare,
        analysis_commands.agree,
        analysis_commands.items,
        analysis_commands.sensitivity,
        analysis_commands.repeats,
        analysis_commands.unchanged,
        analysis_commands.align,
        analysis_commands.calibrate,
    ),
    "Manage": (change_commands.rename, change_commands.remove),
    "Look and share": (output_commands.report, output_commands.view, output_commands.plot, output_commands.export),
    "Build": (output_commands.review,),
    "Extend": (measure.metrics, prompts.prompts, fake_server.fake_server),
}

app = typer.Typer(
    name="creval", cls=HelpGroup, context_settings=HELP_SETTINGS, pretty_exceptions_enable=False, rich_markup_mode=None
)
for panel, commands in _COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.command("gauges", hidden=True)(measure.metrics)
app.add_typer(init.app, cls=HelpGroup, rich_help_panel="Start")
app.add_typer(build.app, cls=HelpGroup, rich_help_panel="Build")
app.add_typer(cache_commands.app, cls=HelpGroup, rich_help_panel="Manage")
for registered in (
    *app.registered_commands,
    *init.app.registered_commands,
    *build.app.registered_commands,
    *cache_commands.app.registered_commands,
):
    registered.cls = HelpCommand


@app.callback(invoke_without_command=True)
def main_callback(
    context: typer.Context,
    config: Annotated[
        str | None,
        typer.Option(metavar="FILE", help=f"File with defaults of options; if not given, {CONFIG_FILE} if it exists."),
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Evaluate image-editing models: which is better, at what, how certain that is, and why."""
    if version:
        print(f"creval {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        return
    held = read_config(config, context.command)
    context.obj, context.default_map = held, held.default_map()


_INTERRUPTED, _OUTPUT_CLOSED = 130, 141  # exit statuses that shells use for the signals INT and PIPE
# The base class of all usage errors, which typer does not export.
_UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]


def main() -> None:
    """Run creval. An error prints one sentence on standard error, and the exit status is 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    watch_output()
    console.log_to_stderr()
    try:
        # The exit status of a command is returned as a value; that of an interrupt is 130.
        status = app(args=current_spelling(sys.argv[1:]), prog_name="creval", standalone_mode=False)
        sys.stdout.flush()
        if status == _INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(status)
    except _UsageError as error:
        message = end_sentence(error.format_message())
        _exit_with_message(f"{message} See `creval --help` or `creval COMMAND --help`.", 2)
    except CrevalError as error:
        _exit_with_message(with_flags(str(error)), 2)
    except (KeyboardInterrupt, typer.Abort):
        _exit_with_message("stopped.", _INTERRUPTED)
    except OutputClosedError:
        discard_output()
        sys.exit(_OUTPUT_CLOSED)
    except OSError as error:
        discard_output()
        where = f"{error.filename}: " if error.filename else ""
        _exit_with_message(f"{where}{error.strerror or error}.", 2)
    except sqlite3.Error as error:
        _exit_with_message(f"the run's database failed: {error}.", 2)


def _exit_with_message(sentence: str, status: int) -> None:
    print(f"creval: {escape_control(hide_secrets(sentence))}", file=sys.stderr)
    sys.exit(status)

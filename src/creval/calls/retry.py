"""Making one model's calls: slots, pace, money, and trying again what brought no answer.

A call is any request that may fail and be made again, of a judge or of an editor.
"""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from creval.calls.limits import Halt, Limits, Purse, backoff
from creval.calls.settings import Settings
from creval.judges.base import Answer, Judge, Request, guess_tokens
from creval.providers.errors import Fault, Unusable

R = TypeVar("R")
A = TypeVar("A")

_LOST_IN_A_ROW = 8  # calls given up, none answered between them: something is wrong
_UNREACHED_AT_FIRST = 3


@dataclass
class Progress:
    """What a run has done so far.

    `calls` are those planned, and those that were added because a reply left something open; `done`
    those that are through, of which `cached` needed no asking. `measured` counts gauges' looks at
    edits. `guessed` says that a server does not count its tokens, and that they and the money
    are guesses; `unpriced` that for some calls no price is known.
    """

    calls: int = 0
    done: int = 0
    cached: int = 0
    made: int = 0
    answered: int = 0
    open: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    guessed: bool = False
    unpriced: bool = False
    under_way: int = 0
    stopping: bool = False
    unopened: int = 0
    to_measure: int = 0
    measured: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    broken: dict[str, str] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> float | None:
        """US dollars; none where not all prices are known."""
        return None if self.unpriced else self.cost


class Taken(NamedTuple):
    """What a call takes, as a guess, or took, as far as that is known: tokens, and US dollars."""

    tokens_in: float | None = 0
    tokens_out: float | None = 0
    cost: float | None = None

    @property
    def tokens(self) -> float:
        return (self.tokens_in or 0) + (self.tokens_out or 0)


@dataclass(frozen=True)
class Made(Generic[A]):
    """An answer, what it cost with all attempts if that is known, its latency, and which attempt
    it was."""

    answer: A
    cost: float | None
    latency: float
    attempt: int


class StoppedError(Exception):
    """A call that was not made because the word to stop had come."""


class Caller(ABC, Generic[R, A]):
    """Makes calls to one model, each until it is answered or given up. `begun` says that the model
    has answered before."""

    def __init__(
        self,
        name: str,
        limits: Limits,
        attempts: int,
        *,
        progress: Progress,
        purse: Purse,
        halt: Halt,
        begun: bool = False,
    ) -> None:
        self.name, self.progress = name, progress
        self._limits, self._attempts = limits, attempts
        self._purse, self._halt = purse, halt
        self._chance = random.Random()  # noqa: S311 (jitter)
        self._succeeded = begun
        self._lost = self._unreached = 0

    @abstractmethod
    async def ask(self, request: R) -> A:
        """Make the call once."""

    @abstractmethod
    def guess(self, request: R) -> Taken:
        """What it will take."""

    @abstractmethod
    def took(self, answer: A) -> Taken:
        """What it took."""

    async def make(self, request: R) -> Made[A]:
        """The answer; `Fault` where there is none, `StoppedError` where it was not asked for."""
        wasted = 0.0
        for attempt in range(1, self._attempts + 1):
            if self._halt:
                raise StoppedError
            guess = self.guess(request)
            aside = guess.cost or 0.0
            began = await self._limits.begin(guess.tokens, self._halt)
            self.progress.under_way += 1
            try:
                if self._halt:
                    raise StoppedError
                if not await self._purse.take(aside, self._halt):
                    self._halt.now("budget")
                    raise StoppedError
                cost = 0.0
                self.progress.made += 1
                try:
                    answer = await self.ask(request)
                    took = self.took(answer)
                    cost = aside if took.cost is None else took.cost
                except Fault as fault:
                    cost = aside if fault.paid else 0.0
                    raise
                finally:
                    self._purse.settle(aside, cost)
            except Fault as fault:
                wasted += cost
                self.progress.cost += cost
                fault.wasted = wasted
                self.progress.faults[fault.kind] += 1
                if fault.crowded:
                    self._limits.crowded(began, fault.wait)
                if not fault.again or attempt == self._attempts:
                    raise
                self._check_reached(fault)
                wait = max(backoff(attempt - 1, self._chance), fault.wait or 0.0)
            else:
                self._limits.went_well()
                if took.tokens_in is None or took.tokens_out is None:
                    self.progress.guessed = True
                    self.progress.tokens_in += round(guess.tokens_in or 0)
                    self.progress.tokens_out += round(guess.tokens_out or 0)
                else:
                    self._limits.used(guess.tokens, took.tokens)
                self.progress.cost += cost
                known = guess.cost is not None or took.cost is not None
                self.progress.unpriced |= not known and bool(guess.tokens)
                whole = cost + wasted if known else None
                return Made(answer, whole, time.monotonic() - began, attempt)
            finally:
                self.progress.under_way -= 1
                self._limits.end()
            await self._halt.sleep(wait)
        raise StoppedError

    def _check_reached(self, fault: Fault) -> None:
        """A server that was never reached is not waited for: the address is wrong, or it is off."""
        if self._succeeded or fault.kind != "no connection":
            return
        self._unreached += 1
        if self._unreached >= _UNREACHED_AT_FIRST:
            raise Unusable(f"{self.name} cannot be reached ({fault}). Is it running there?")

    def went_well(self, answer: A) -> None:
        """A call was answered, and its answer is kept."""
        self._succeeded, self._lost = True, 0
        took = self.took(answer)
        self.progress.tokens_in += int(took.tokens_in or 0)
        self.progress.tokens_out += int(took.tokens_out or 0)

    def gave_up(self, fault: Fault) -> None:
        """A call was given up. `Unusable` where that happens too often to go on."""
        self._lost += 1
        # A request that is bad says nothing about others, once one was answered.
        if self._lost >= _LOST_IN_A_ROW and (fault.again or not self._succeeded):
            which = "last" if self._succeeded else "first"
            raise Unusable(
                f"{self.name}: none of the {which} {self._lost} calls was answered ({fault})."
                " What was answered before is kept; repeat the command to go on."
            )


class JudgeCaller(Caller[Request, Answer]):
    """Makes the calls to one judge."""

    def __init__(
        self,
        judge: Judge,
        settings: Settings,
        *,
        progress: Progress,
        purse: Purse,
        halt: Halt,
        begun: bool = False,
    ) -> None:
        limits = Limits(settings.concurrency, settings.requests_a_minute, settings.tokens_a_minute)
        super().__init__(
            judge.name, limits, settings.attempts, progress=progress, purse=purse, halt=halt,
            begun=begun,
        )  # fmt: skip
        self.judge = judge

    async def ask(self, request: Request) -> Answer:
        return await self.judge.ask(request)

    def guess(self, request: Request) -> Taken:
        tokens = guess_tokens(self.judge, request)
        price = self.judge.price
        return Taken(*tokens, price.cost(*tokens) if price else None)

    def took(self, answer: Answer) -> Taken:
        return Taken(answer.tokens_in, answer.tokens_out, answer.cost)

"""What all bots have in common: which question a view asks, and what they never do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random

from service.bots.reading import Reading, read
from service.engine.actions import Accept, Action, Fold, Play, Raise, Show, legal_actions
from service.engine.view import Phase, PlayerView


class Player(ABC):
    """Answers the views of a seat that the game waits for. Remembers nothing between two of them."""

    def decide(self, view: PlayerView, rng: Random) -> Action:
        """One of `legal_actions(view)`, for a seat that the game waits for; *rng* is all that is random in it."""
        hand = view.table.hand
        assert hand is not None and view.viewer in view.table.waited_for, "bots act in turn only"
        offered = legal_actions(view)
        if hand.phase in (Phase.CUT, Phase.DEAL):
            return rng.choice(offered)
        show = next((action for action in offered if isinstance(action, Show)), None)
        if show is not None:
            return show  # a proven win
        plays = [action for action in offered if isinstance(action, Play)]
        if view.table.is_blind:
            return rng.choice(plays)
        reading = read(view)
        raising = next((action for action in offered if isinstance(action, Raise)), None)
        if hand.phase is Phase.ELEVEN:
            return Accept() if self.plays_at_eleven(reading, rng) else Fold()
        if hand.phase is Phase.ANSWER:
            return self.answer(reading, raising, rng)
        return self.turn(reading, raising, plays, rng)

    def turn(self, reading: Reading, raising: Raise | None, plays: Sequence[Play], rng: Random) -> Action:
        if raising is not None and self.raises(reading, raising, rng):
            return raising
        return self.card(reading, plays, rng)

    @abstractmethod
    def plays_at_eleven(self, reading: Reading, rng: Random) -> bool:
        """Whether its team plays the mão de onze."""

    @abstractmethod
    def answer(self, reading: Reading, raising: Raise | None, rng: Random) -> Action:
        """To a raise of the other team; *raising* is the raise that it might answer with."""

    @abstractmethod
    def raises(self, reading: Reading, raising: Raise, rng: Random) -> bool:
        """Whether to raise before it plays its card."""

    @abstractmethod
    def card(self, reading: Reading, plays: Sequence[Play], rng: Random) -> Play:
        """One of *plays*."""

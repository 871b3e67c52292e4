"""What all bots have in common: which question a view asks, and what none of them ever does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random

from service.bots.reading import Reading, read
from service.engine.actions import Accept, Action, Fold, Play, Raise, Show, legal_actions
from service.engine.view import Phase, PlayerView, Seat, Table


def speaker(table: Table) -> Seat:
    """The seat that acts of those that the game waits for: of a team that owes an answer the next to play a card."""
    assert table.hand is not None
    next_to_play = table.hand.to_play or 0
    return min(table.waited_for, key=lambda seat: (seat - next_to_play) % table.rules.seats)


class Player(ABC):
    """Acts for a seat. Remembers nothing: the same view and the same random source give the same action."""

    def decide(self, view: PlayerView, rng: Random) -> Action:
        """One of `legal_actions(view)`, for a seat that the game waits for.

        It raises in turn only, never where a raise costs a penalty, and always shows a proven win. In the phases
        `answer` and `eleven` it speaks for its team.
        """
        table, offered = view.table, legal_actions(view)
        assert table.hand is not None and view.viewer in table.waited_for, "a bot acts when it is waited for"
        if table.hand.phase in (Phase.CUT, Phase.DEAL):
            return rng.choice(offered)
        plays = [action for action in offered if isinstance(action, Play)]
        if table.is_blind:
            return rng.choice(plays)
        for action in offered:
            if isinstance(action, Show):
                return action
        reading = read(view)
        if table.hand.phase is Phase.ELEVEN:
            return Accept() if self.plays_at_eleven(reading, rng) else Fold()
        raises = [action for action in offered if isinstance(action, Raise) and action.penalty is None]
        raising = raises[0] if raises else None
        if table.hand.phase is Phase.ANSWER:
            return self.answer(reading, raising, rng)
        return self.turn(reading, raising, plays, rng)

    @abstractmethod
    def plays_at_eleven(self, reading: Reading, rng: Random) -> bool:
        """Whether its team plays the mão de onze."""

    @abstractmethod
    def answer(self, reading: Reading, raising: Raise | None, rng: Random) -> Action:
        """To a raise of the other team; *raising*: the raise that may be the answer."""

    @abstractmethod
    def turn(self, reading: Reading, raising: Raise | None, plays: Sequence[Play], rng: Random) -> Action:
        """A card, one of *plays*, or *raising* before it."""

"""Bots: a `PlayerView` in, one of its legal actions out.

They see what a player at their seat sees, and nothing else: import-linter lets them use `engine.view` and
`engine.actions` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from service.bots.easy import Easy
from service.bots.hard import Hard
from service.bots.medium import Medium
from service.bots.player import Player, speaker

__all__ = ["BOTS", "Bot", "Player", "speaker"]


@dataclass(frozen=True, slots=True)
class Bot:
    """A kind of bot; `sentence` tells people what to expect."""

    player: Player
    sentence: str


BOTS: Final[Mapping[str, Bot]] = {
    "easy": Bot(Easy(), "Plays card by card, trusts strong cards only and seldom raises."),
    "medium": Bot(Medium(), "Knows what its cards are worth, bets by it without bluffing, and plays with its partner."),
    "hard": Bot(Hard(), "Reads what the others play, reckons with the score, and bluffs."),
}
"""By the name under which they are seated."""

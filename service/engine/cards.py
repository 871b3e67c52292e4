"""Cards and the three decks. Nothing here knows a rule beyond the order of the ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final, NewType

Rank = NewType("Rank", str)

HAND_SIZE: Final = 3
"""Cards dealt to a seat, and so the most tricks a hand can have."""


class Suit(StrEnum):
    """The suits in manilha order, strongest first (rulebook 2)."""

    CLUBS = "C"
    HEARTS = "H"
    SPADES = "S"
    DIAMONDS = "D"


class Deck(StrEnum):
    FRENCH40 = "french40"
    FRENCH24 = "french24"
    SPANISH40 = "spanish40"

    @property
    def ranks(self) -> tuple[Rank, ...]:
        """Weakest first."""
        return _RANKS[self]

    @property
    def cards(self) -> tuple[Card, ...]:
        """The pack before the shuffle: ranks weakest first, within a rank C H S D (api.md 8)."""
        return _cards(self)

    def rank_after(self, rank: Rank) -> Rank:
        """The rank that *rank*, turned as the vira, makes manilha: the next one, the last wrapping to the first."""
        ranks = self.ranks
        return ranks[(ranks.index(rank) + 1) % len(ranks)]


def _ranks(text: str) -> tuple[Rank, ...]:
    return tuple(Rank(rank) for rank in text.split())


_RANKS: Final = {
    Deck.FRENCH40: _ranks("4 5 6 7 Q J K A 2 3"),
    Deck.FRENCH24: _ranks("Q J K A 2 3"),
    Deck.SPANISH40: _ranks("4 5 6 7 10 11 12 1 2 3"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """There is one of each, in `ALL_CARDS`: it equals itself alone, and `parse` finds it."""

    rank: Rank
    suit: Suit

    def __str__(self) -> str:
        return self.rank + self.suit

    def __reduce__(self) -> tuple[Callable[[str], Card], tuple[str]]:
        """A copy is the card itself, in another process too."""
        return Card.parse, (str(self),)

    @staticmethod
    def parse(text: str) -> Card:
        """The card written *text*, rank then suit: "7H", "12S". Raises ValueError for a card that no deck has."""
        try:
            return ALL_CARDS[text]
        except KeyError:
            raise ValueError(f"{text!r} is not a card") from None


ALL_CARDS: Final = {
    f"{rank}{suit}": Card(rank, suit) for rank in _ranks("4 5 6 7 Q J K A 2 3 10 11 12 1") for suit in Suit
}
"""Every card of every deck by its text; a card's place in it is its number in stored states, so only append."""


@cache
def _cards(deck: Deck) -> tuple[Card, ...]:
    return tuple(ALL_CARDS[f"{rank}{suit}"] for rank in deck.ranks for suit in Suit)


def parse_cards(text: str | Iterable[str]) -> tuple[Card, ...]:
    """Cards from a list, or from one string with spaces between them."""
    return tuple(map(Card.parse, text.split() if isinstance(text, str) else text))


Strengths = dict[Card, int]

COVERED_STRENGTH: Final = -1
"""Of a card lying face down: below every open one."""

_FIRST_MANILHA: Final = 100


@cache
def strengths(deck: Deck, manilhas: tuple[Card, ...]) -> Strengths:
    """How strong each card of *deck* is when *manilhas* (strongest first) are: any two compare, equal means tied.

    Manilhas are 100 and up, each its own; an ordinary card is as strong as its rank's place in the deck's order.
    """
    table = {card: deck.ranks.index(card.rank) for card in deck.cards}
    for place, card in enumerate(reversed(manilhas)):
        table[card] = _FIRST_MANILHA + place
    return table


@cache
def manilhas_of(deck: Deck, vira: Card) -> tuple[Card, ...]:
    """The four manilhas that *vira* names, strongest first (clubs, hearts, spades, diamonds)."""
    rank = deck.rank_after(vira.rank)
    return tuple(ALL_CARDS[f"{rank}{suit}"] for suit in Suit)

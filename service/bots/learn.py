"""Makes `outlook_table.py`: `python -m service.bots.learn`, some minutes on all cores; the same each time.

It deals every holding of three cards to a seat in every place, the rest of the deck at random to the others, and lets
all play on by the tables of the round before (`play_out`). How often that seat's team won is what the cards were worth,
and so is, trick by trick, what it had left. In half of the deals the seat begins with a card of the dice's choice, so
that holdings are met that a good player would not keep.
"""

from __future__ import annotations

import sys
from base64 import b85encode
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations_with_replacement, product
from pathlib import Path
from random import Random
from typing import Final

from service.bots import outlook_table
from service.bots.course import BOTH, Course, play_out
from service.bots.outlook import LEVELS, LOWEST_MANILHA, NONE, Held, Key, Outlook, keys
from service.engine.view import Seat, Team, TieLeader

SIZES: Final = (24, 40)
SEATS: Final = (2, 4, 6)
ROUNDS: Final = 8
DEALS: Final = 480
"""Of every holding in every place, in a round; divided by half the seats, since those multiply the places."""
REMEMBERED: Final = 0.6
"""What the counts of a round weigh in the next."""
FIRST_GUESS: Final = 6
"""How many hands the value of the round before counts for."""
MANILHAS: Final = tuple(range(LOWEST_MANILHA, LEVELS))


def main() -> None:
    sorts = list(product(SIZES, SEATS))
    with ProcessPoolExecutor() as pool:
        learnt = list(pool.map(_learn, *zip(*sorts, strict=True)))
    lines = ['"""Made by `learn`, which says what it holds. Not to be edited."""', "", "TABLES = {"]
    for (size, seats), table in zip(sorts, learnt, strict=True):
        lines += [f"    ({size}, {seats}): (", *_quoted(table), "    ),"]
    Path(outlook_table.__file__).write_text("\n".join([*lines, "}", ""]), "utf-8")


def _quoted(table: bytes) -> list[str]:
    text = b85encode(table).decode("ascii")
    return [f'        "{text[at : at + 100]}"' for at in range(0, len(text), 100)]


def _learn(size: int, seats: int) -> bytes:
    """The table of one number of seats and one size of deck: percentages in the order of `keys`."""
    rng = Random(f"{size} {seats}")
    worth = {key: sum(key[2]) / len(key[2]) / LEVELS for key in keys(seats)}
    hands = dict.fromkeys(worth, 0.0)
    wins = dict.fromkeys(worth, 0.0)
    for number in range(ROUNDS):
        met, won = _round(Outlook(size, seats, worth), size, rng)
        for key, before in worth.items():
            hands[key] = hands[key] * REMEMBERED + met.get(key, 0)
            wins[key] = wins[key] * REMEMBERED + won.get(key, 0)
            worth[key] = (wins[key] + FIRST_GUESS * before) / (hands[key] + FIRST_GUESS)
        print(f"{size} cards, {seats} seats: round {number + 1} of {ROUNDS}", file=sys.stderr, flush=True)
    return bytes(round(100 * value) for value in worth.values())


def _round(outlook: Outlook, size: int, rng: Random) -> tuple[dict[Key, int], dict[Key, float]]:
    """By key how often it was met and how often won."""
    met: dict[Key, int] = {}
    won: dict[Key, float] = {}
    holdings = combinations_with_replacement(range(LEVELS), 3)
    for held, place, number in product(holdings, range(outlook.seats), range(DEALS * 2 // outlook.seats)):
        hands = _deal(outlook.seats, size, held, rng)
        if hands is None:
            continue
        opener = -place % outlook.seats
        course = Course(outlook, TieLeader.OPENER, leader=opener, opener=opener)
        is_forced = number % 2 == 1
        begun: list[tuple[Seat, Key]] = []
        winner = play_out(course, hands, (0, rng.randrange(3)) if is_forced else None, begun)
        for seat, key in begun:
            if seat == 0 and not (is_forced and key[0] == NONE):
                met[key] = met.get(key, 0) + 1
                won[key] = won.get(key, 0) + _share(winner)
    return met, won


def _share(winner: Team) -> float:
    """Of the hand, for team 0."""
    return 0.5 if winner == BOTH else 1.0 - winner


def _deal(seats: int, size: int, held: Held, rng: Random) -> list[Held] | None:
    """Hands of which seat 0 has *held*; None if the deck has no such cards."""
    deck = _deck(size, rng)
    for level in held:
        if level not in deck:
            return None
        deck.remove(level)
    cards = rng.sample(deck, 3 * (seats - 1))
    return [held, *(tuple(sorted(cards[at : at + 3])) for at in range(0, len(cards), 3))]


def _deck(size: int, rng: Random) -> list[int]:
    """The levels of a deck without its vira, or, half of the time, of one whose manilhas are fixed."""
    ranks = size // 4
    if rng.random() < 0.5:
        ordinary = [LOWEST_MANILHA - 1 - place for place in range(ranks - 1)] * 4
        ordinary.remove(rng.choice(ordinary))
        return [*MANILHAS, *ordinary]
    ordinary = [LOWEST_MANILHA - 1 - place for place in range(ranks)] * 4
    return [*MANILHAS, *rng.sample(ordinary, size - 4)]


if __name__ == "__main__":
    main()

"""The proof behind `show`, against a search that leaves nothing out and shares no code with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import pytest

from service.engine.actions import Show
from service.engine.proof import Position, is_won, position_of
from service.engine.rules import TieLeader
from tests.table import PlayedTable, table

COVERED = -1


@dataclass(frozen=True)
class Puzzle:
    """What never changes while a position is searched."""

    seats: int
    seat: int
    hand_leader: int
    tie_leader: str
    covered_from: int | None
    all_tied_wins: bool


@cache
def wins(
    puzzle: Puzzle,
    results: tuple[str, ...],
    opener: int,
    played: tuple[int, ...],
    own: tuple[int, ...],
    unseen: tuple[int, ...],
) -> bool:
    """Whether the seat has an answer to every card, open or covered, that anyone else might have and play.

    *results* are the tricks so far, each "own", "other" or "tie".
    """
    if len(played) == puzzle.seats:
        outcome, leads = _trick(puzzle, opener, played)
        results = (*results, outcome)
        winner = _hand(results)
        if winner == "all tied":
            return puzzle.all_tied_wins
        if winner is not None:
            return winner == "own"
        return wins(puzzle, results, leads, (), own, unseen)
    may_cover = puzzle.covered_from is not None and len(results) + 1 >= puzzle.covered_from
    covered = [COVERED] if may_cover else []
    if (opener + len(played)) % puzzle.seats == puzzle.seat:
        return any(
            wins(puzzle, results, opener, (*played, face), _without(own, card), unseen)
            for card in set(own)
            for face in (card, *covered)
        )
    open_cards = all(
        wins(puzzle, results, opener, (*played, card), own, _without(unseen, card)) for card in set(unseen)
    )
    return open_cards and all(
        wins(puzzle, results, opener, (*played, COVERED), own, _without(unseen, card))
        for _ in covered
        for card in set(unseen)
    )


def _without(cards: tuple[int, ...], card: int) -> tuple[int, ...]:
    place = cards.index(card)
    return cards[:place] + cards[place + 1 :]


def _trick(puzzle: Puzzle, opener: int, played: Sequence[int]) -> tuple[str, int]:
    """Whose the trick is, and the seat that opens the next."""
    best = max(played)
    tops = [(opener + place) % puzzle.seats for place, card in enumerate(played) if card == best]
    teams = {seat % 2 for seat in tops}
    if best != COVERED and len(teams) == 1:
        return ("own" if puzzle.seat % 2 in teams else "other"), tops[0]
    leads = {"opener": opener, "first_tied": tops[0], "last_tied": tops[-1], "hand_leader": puzzle.hand_leader}
    return "tie", leads[puzzle.tie_leader]


def _hand(results: tuple[str, ...]) -> str | None:
    """Rulebook 2, "Who wins the hand", line by line; None while it is open."""
    match results:
        case [one, two, *_] if one == two != "tie":
            return one
        case [one, "tie", *_] if one != "tie":
            return one
        case ["tie", two, *_] if two != "tie":
            return two
        case [_, _, three] if three != "tie":
            return three
        case [one, _, _] if one != "tie":
            return one
        case [_, _, _]:
            return "all tied"
    return None


def searched(position: Position) -> bool:
    """What the search without short cuts says of *position*."""
    team = position.seat % 2
    puzzle = Puzzle(
        position.seats,
        position.seat,
        position.hand_leader,
        str(position.tie_leader),
        position.covered_from_trick,
        position.all_tied_wins,
    )
    results = tuple("tie" if won is None else "own" if won == team else "other" for won in position.results)
    return wins(puzzle, results, position.opener, position.played, position.own, position.unseen)


def random_position(rng: Random, seats: int, done: int) -> Position | None:
    """A turn of the seat after *done* tricks, with few ranks so that the search stays small; None: it is over."""
    results = tuple(rng.choice((0, 1, None)) for _ in range(done))
    if done == 2 and (results[0] == results[1] is not None or (results.count(None) == 1)):
        return None
    seat = rng.randrange(seats)
    before = rng.randrange(seats)
    covered_from = rng.choice((2, 3, None))
    may_cover = covered_from is not None and done + 1 >= covered_from
    ranks = rng.choice((2, 3, 4) if done < 2 else (3, 5, 7))
    cards = sorted([*range(ranks)] * 4 + [100 + manilha for manilha in range(rng.randrange(5))], reverse=True)
    own = [cards.pop(min(int(rng.expovariate(0.5)), len(cards) - 1)) for _ in range(3 - done)]
    rng.shuffle(cards)
    played = [COVERED if may_cover and rng.random() < 0.3 else cards.pop() for _ in range(before)]
    to_come = (seats - 1) * (3 - done) - before
    if len(cards) < to_come + 1:
        return None
    return Position(
        seats=seats,
        seat=seat,
        hand_leader=rng.randrange(seats),
        tie_leader=rng.choice(list(TieLeader)),
        covered_from_trick=covered_from,
        all_tied_wins=rng.random() < 0.5,
        results=results,
        opener=(seat - before) % seats,
        played=tuple(played),
        own=tuple(sorted(own)),
        unseen=tuple(sorted(cards[: to_come + rng.choice((1, 2, 4))])),
    )


@pytest.mark.parametrize(
    ("seats", "done", "times"),
    [(2, 0, 600), (2, 1, 600), (2, 2, 300), (4, 0, 40), (4, 1, 400), (4, 2, 400), (6, 1, 12), (6, 2, 120)],
)
def test_the_proof_is_exact(seats: int, done: int, times: int) -> None:
    rng = Random(f"{seats} seats, {done} tricks")
    positions = [position for _ in range(times) if (position := random_position(rng, seats, done)) is not None]

    verdicts = Counter((position, is_won(position), searched(position)) for position in positions)
    wins.cache_clear()

    assert [position for position, proven, won in verdicts if proven != won] == []
    assert {proven for _, proven, _ in verdicts} == {True, False}


def _last_trick(rng: Random, seats: int, wanted_seat: int) -> PlayedTable:
    """A mão de onze played at random to the third trick, the turn being *wanted_seat*'s."""
    while True:
        deck = rng.sample([f"{rank}{suit}" for rank in "4567QJKA23" for suit in "CHSD"], 3 * seats + 1)
        hands = " / ".join(" ".join(deck[3 * seat : 3 * seat + 3]) for seat in range(seats))
        game = table("tradicional", hands, deck[-1], seats=seats, score=rng.choice([(11, 7), (7, 11)])).accepts()
        while game.hand.to_play is not None and (len(game.hand.results) < 2 or game.hand.to_play != wanted_seat):
            held = game.view(game.hand.to_play).own
            game = game.plays(f"slot {rng.choice(held).slot}")
        if game.hand.to_play is not None:
            return game


@pytest.mark.parametrize("seats", [2, 4])
def test_show_is_legal_when_the_search_says_so(seats: int) -> None:
    """At real tables in the third trick, whoever's turn it is."""
    rng = Random(f"{seats} at the table")
    shows: Counter[bool] = Counter()
    for _ in range(40):
        seat = rng.randrange(seats)
        game = _last_trick(rng, seats, seat)
        won = searched(position_of(game.view(seat)))
        assert (game.refusal(seat, Show()) is None) == won
        assert (Show() in game.offered(seat)) == won
        shows[won] += 1
    assert shows[True] and shows[False]


def test_the_proof_knows_what_the_seat_knows() -> None:
    """Its own cards, also a covered one, the vira and the open cards: all others may be anywhere."""
    hands = "3C 5C 5H / KD JD 7D / 6H 5S QH / 6S AS 2S"
    game = table("tradicional", hands, "4D", score=(11, 7)).accepts().plays("3C", "KD", "6H", "6S")
    game = game.plays("*5C", "JD", "*5S", "AS", "2S")

    position = position_of(game.view(0))

    lying_open = ["3C", "KD", "6H", "6S", "JD", "AS", "2S", "4D"]
    assert len(position.unseen) == 40 - len(lying_open) - len(["5C", "5H"])
    assert position.own == (102,)
    assert 103 not in position.unseen and 101 in position.unseen

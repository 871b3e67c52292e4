"""What bots reckon with: hands in levels run as the engine runs them in cards, and the tables tell what happens."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from random import Random
from statistics import fmean

import pytest

from service.bots.course import BOTH, Course, play_out
from service.bots.learn import _deck
from service.bots.match_odds import match_odds
from service.bots.outlook import LOST, NONE, WON, Held, keys, outlook_for
from service.bots.reading import Reading, levels_of, read
from service.engine.actions import Play, apply
from service.engine.cards import Deck, manilhas_of, strengths
from service.engine.rules import PRESETS, AllTied, TieLeader
from service.engine.state import GameState, Phase
from service.engine.view import view_for
from tests.engine.games import shuffled
from tests.table import first_hand, table

SEATS = (2, 4, 6)
DECKS = (24, 40)


def reading_of(state: GameState) -> Reading:
    hand = state.table.hand
    assert hand is not None
    return read(view_for(state, hand.to_play))


def all_hands(state: GameState) -> list[Held]:
    levels = reading_of(state).levels
    return [tuple(sorted(levels[card] for card in held if card is not None)) for held in state.secrets.hands]


@pytest.mark.parametrize("deck", Deck)
def test_levels_are_in_the_order_of_strength(deck: Deck) -> None:
    fixed = PRESETS["mineiro"].rules.manilhas
    assert fixed is not None
    named = {manilhas_of(deck, vira) for vira in deck.cards} | ({fixed} if deck is Deck.FRENCH40 else set())
    for manilhas in named:
        levels, strength = levels_of(deck, manilhas), strengths(deck, manilhas)
        assert [levels[card] for card in manilhas] == [13, 12, 11, 10]
        in_order = sorted(deck.cards, key=strength.__getitem__)
        assert max(levels[card] for card in deck.cards if card not in manilhas) == 9
        for weaker, stronger in pairwise(in_order):
            assert (levels[weaker] < levels[stronger]) == (strength[weaker] < strength[stronger])


@pytest.mark.parametrize(("seats", "tie_leader"), list(product(SEATS, TieLeader)))
def test_a_hand_in_levels_runs_as_in_the_engine(seats: int, tie_leader: TieLeader) -> None:
    """From each of its states on; in every other hand one card is not the player's choice."""
    rules = replace(PRESETS["paulista"].rules, seats=seats, tie_leader=tie_leader, all_tied=AllTied.NOBODY)
    rng, ties = Random(f"{seats} {tie_leader}"), 0
    for number in range(120):
        state = first_hand(rules, rng.randrange(seats), shuffled(rules, rng))
        foretold = []
        while state.table.hand is not None and state.table.hand.phase is Phase.PLAY:
            reading = reading_of(state)
            values = reading.course.values(reading.seat, reading.held)
            place = rng.randrange(len(values)) if number % 2 and not foretold else values.index(max(values))
            foretold.append(play_out(reading.course, all_hands(state), (reading.seat, place)))
            state = apply(state, reading.seat, Play(card=reading.cards[place])).state
            ties += state.table.hand is not None and None in state.table.hand.results
        assert state.table.last_hand is not None
        winner = state.table.last_hand.winner
        assert set(foretold) == {BOTH if winner is None else winner}
    assert ties > 20


def test_covered_cards_take_nothing() -> None:
    played = table("paulista", "3C 3D 4C / KD JD 4D", "6S", seats=2).plays("4C", "4D", "*3C")
    standing = reading_of(played.state).course.standing
    assert (standing.best, standing.team) == (-1, 0)
    both_covered = played.plays("*JD")
    assert reading_of(both_covered.state).course.results == (BOTH, BOTH)


@pytest.mark.parametrize(("size", "seats"), list(product(DECKS, SEATS)))
def test_the_tables_tell_how_hands_end(size: int, seats: int) -> None:
    """Of the tricks that begin with a chance around some value, that share is won."""
    outlook, rng = outlook_for(size, seats), Random(f"{size} {seats}")
    told: dict[int, list[tuple[float, float]]] = {tenth: [] for tenth in range(11)}
    for _ in range(3_000):
        cards = rng.sample(_deck(size, rng), 3 * seats)
        hands = [tuple(sorted(cards[at : at + 3])) for at in range(0, len(cards), 3)]
        begun: list[tuple[int, tuple[int, int, Held]]] = []
        opener = rng.randrange(seats)
        winner = play_out(Course(outlook, TieLeader.OPENER, opener, opener), hands, begun=begun)
        for seat, key in begun:
            chance = outlook.worth(*key)
            told[int(chance * 10)].append((chance, 0.5 if winner == BOTH else float(winner == seat % 2)))
    for met in told.values():
        if len(met) > 300:
            assert fmean(chance for chance, _ in met) == pytest.approx(fmean(won for _, won in met), abs=0.06)


@pytest.mark.parametrize(("size", "seats"), list(product(DECKS, SEATS)))
def test_the_tables_know_what_is_sure(size: int, seats: int) -> None:
    """Whoever has won a trick leads the next, so some places come only after some tricks."""
    outlook = outlook_for(size, seats)
    assert outlook.worth(NONE, 0, (11, 12, 13)) >= 0.98
    for place in range(0, seats, 2):
        assert outlook.worth(WON, place, (6, 13)) >= 0.98, "one of two tricks, with the best card"
    for place in range(1, seats, 2):
        assert outlook.worth(LOST, place, (12, 13)) >= 0.98, "both tricks, with the two best"
        assert outlook.worth(LOST, place, (5, 5)) <= 0.4


@pytest.mark.parametrize(("size", "seats"), list(product(DECKS, SEATS)))
def test_a_better_card_is_worth_more(size: int, seats: int) -> None:
    """Nearly always: the tables are learnt from hands dealt at random."""
    outlook, more, less = outlook_for(size, seats), 0, 0
    for first, place, held in keys(seats):
        if first != NONE or held[0] < 14 - size // 4 or held[-1] > 8:
            continue
        better = (*held[:-1], held[-1] + 1)
        gain = outlook.worth(first, place, better) - outlook.worth(first, place, held)
        more += gain > -0.03
        less += gain <= -0.03
    assert less < more / 10


@pytest.mark.parametrize("variant", PRESETS)
def test_the_odds_of_a_match_are_fair_and_rise_with_the_points(variant: str) -> None:
    rules = PRESETS[variant].rules
    odds = match_odds(rules)
    for ours, theirs in product(range(rules.target), repeat=2):
        assert odds(ours, theirs) + odds(theirs, ours) == pytest.approx(1)
        assert 0 < odds(ours, theirs) < 1
        if ours + rules.eleven_value < rules.one_short:
            assert odds(ours + rules.eleven_value, theirs) > odds(ours, theirs)
    assert odds(rules.target, rules.one_short) == odds(rules.target + 5, 0) == 1
    assert odds(rules.one_short, rules.target + 5) == 0

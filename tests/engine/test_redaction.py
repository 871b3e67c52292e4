"""No viewer learns what the rules hide from it: two states that differ only in that are the same to it.

In every state of random games, for each seat and the spectator, the cards that the viewer may not know are dealt anew.
What it may know is told here once more from the rulebook (section 2, `iron_cards` and `eleven_show` in section 3), by
what was dealt and done and not by what the engine shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from random import Random

import pytest

from service.engine.actions import Accept, Action, Deal, Fold, Play, Show, apply, legal_actions
from service.engine.cards import Card
from service.engine.events import Event
from service.engine.flow import start_hand
from service.engine.rules import RuleSet
from service.engine.state import CoveredCard, GameState, Hand, Phase, Seat, Trick
from service.engine.view import view_for
from tests.engine.games import STARTS, Start, Turn, every_action, random_game, refusal
from tests.table import table

every_start = pytest.mark.parametrize("start", STARTS, ids=str)

Viewer = Seat | None
Redealt = Mapping[Card, Card]
"""What each card of the deck has become."""


@dataclass(frozen=True)
class Laid:
    seat: Seat
    card: Card
    covered: bool


@dataclass(frozen=True)
class Told:
    """A hand with nothing hidden: what was dealt and what was done."""

    rules: RuleSet
    score: tuple[int, int]
    """When it began."""
    dealt: tuple[frozenset[Card], ...] = ()
    """Per seat; () before the deal."""
    vira: Card | None = None
    laid: tuple[Laid, ...] = ()
    decided: bool = False
    """A team has said whether it plays at 11."""
    shown: frozenset[Card] = frozenset()

    @property
    def short(self) -> list[int]:
        """The teams that are one step short of the target."""
        return [team for team in (0, 1) if self.score[team] == self.rules.target - self.rules.ladder[0]]

    def held(self, seat: Seat) -> set[Card]:
        return set(self.dealt[seat]) - {laid.card for laid in self.laid} if self.dealt else set()

    def known(self, viewer: Viewer) -> set[Card]:
        """The cards whose face and place *viewer* may know."""
        is_iron = len(self.short) == 2
        cards = {laid.card for laid in self.laid if not laid.covered or laid.seat == viewer} | self.shown
        is_hidden = is_iron and self.rules.iron_cards == "blind_hidden_vira"
        if self.vira is not None and not (is_hidden and len(self.laid) < self.rules.seats):
            cards.add(self.vira)
        if viewer is None or (is_iron and self.rules.iron_cards != "open"):
            return cards
        cards |= self.held(viewer)
        decides = self.short == [viewer % 2] and self.rules.eleven_decision and not self.decided
        if decides and self.rules.eleven_partner_cards:
            cards |= {card for partner in range(viewer % 2, self.rules.seats, 2) for card in self.held(partner)}
        return cards

    def after(self, turn: Turn) -> Told:
        """What there is to tell after *turn*, an action in this hand."""
        dealt = self
        if not self.dealt and turn.after.secrets.hands:
            dealt = _dealt(self, turn.after)
        action = turn.action
        if isinstance(action, Play) and turn.seat is not None:
            return replace(dealt, laid=(*self.laid, Laid(turn.seat, _face(turn, action), action.covered)))
        if isinstance(action, Show) and turn.seat is not None:
            return replace(dealt, shown=frozenset(self.held(turn.seat)))
        return replace(dealt, decided=dealt.decided or isinstance(action, Accept | Fold))


def _dealt(told: Told, state: GameState) -> Told:
    """*told* with the deal of *state*, in which no card has been played yet."""
    secrets = state.secrets
    hands = tuple(frozenset(card for card in held if card is not None) for held in secrets.hands)
    return replace(told, dealt=hands, vira=secrets.vira or _hand(state).vira)


def _face(turn: Turn, action: Play) -> Card:
    assert turn.seat is not None
    card = turn.before.secrets.hands[turn.seat][action.slot] if action.slot is not None else action.card
    assert card is not None
    return card


@dataclass(frozen=True)
class Step:
    """A turn, and what there is to tell before and after it: of the hand, and of the one before that."""

    turn: Turn
    before: Told | None
    last_before: Told | None
    after: Told
    last: Told | None


@cache
def told_game(start: Start) -> list[Step]:
    return list(tell(random_game(start)))


def tell(turns: Iterable[Turn]) -> Iterator[Step]:
    """What there is to tell of each turn of a game, as soon as it is done."""
    told: Told | None = None
    last: Told | None = None
    for turn in turns:
        before, last_before = told, last
        if turn.action is None:
            last = told
            told = Told(turn.before.table.rules, turn.before.table.score)
            told = _dealt(told, turn.after) if turn.after.secrets.hands else told
        else:
            assert told is not None
            told = told.after(turn)
        yield Step(turn, before, last_before, told, last)


def _hand(state: GameState) -> Hand:
    assert state.table.hand is not None
    return state.table.hand


def redealt_but(kept: set[Card], rules: RuleSet, rng: Random) -> Redealt:
    """The deck with all cards but *kept* changed for one another."""
    rest = [card for card in rules.deck.cards if card not in kept]
    return dict(zip(rest, rng.sample(rest, len(rest)), strict=True)) | {card: card for card in kept}


def with_cards(state: GameState, cards: Redealt, last: Redealt) -> GameState:
    """*state* with every card as *cards* says, wherever it is kept; *last* is for those of the hand before."""
    hand, last_hand, secrets = _hand(state), state.table.last_hand, state.secrets
    if hand.phase is Phase.OVER:
        last = cards
    if last_hand is not None:
        shown = last_hand.shown and replace(last_hand.shown, cards=tuple(last[card] for card in last_hand.shown.cards))
        tricks = _changed_tricks(last_hand.tricks, last)
        last_hand = replace(last_hand, vira=_changed(last_hand.vira, last), tricks=tricks, shown=shown)
    hand = replace(hand, vira=_changed(hand.vira, cards), tricks=_changed_tricks(hand.tricks, cards))
    changed = replace(
        secrets,
        hands=tuple(tuple(_changed(card, cards) for card in held) for held in secrets.hands),
        pack=tuple(cards[card] for card in secrets.pack),
        vira=_changed(secrets.vira, cards),
        covered=_changed_covered(secrets.covered, cards),
        last_covered=_changed_covered(secrets.last_covered, last),
    )
    return GameState(replace(state.table, hand=hand, last_hand=last_hand), changed)


def _changed(card: Card | None, cards: Redealt) -> Card | None:
    return None if card is None else cards[card]


def _changed_tricks(tricks: tuple[Trick, ...], cards: Redealt) -> tuple[Trick, ...]:
    return tuple(
        replace(trick, plays=tuple(replace(play, card=_changed(play.card, cards)) for play in trick.plays))
        for trick in tricks
    )


def _changed_covered(covered: tuple[CoveredCard, ...], cards: Redealt) -> tuple[CoveredCard, ...]:
    return tuple(replace(card, card=cards[card.card]) for card in covered)


def redealt(step: Step, viewer: Viewer, rng: Random) -> GameState:
    """The state after *step* with all that *viewer* may not know dealt anew."""
    rules = step.after.rules
    last = set() if step.last is None else step.last.known(viewer)
    return with_cards(
        step.turn.after,
        redealt_but(step.after.known(viewer), rules, rng),
        redealt_but(last, rules, rng),
    )


def _viewers(start: Start) -> list[Viewer]:
    return [None, *range(start.seats)]


@every_start
def test_views_and_legal_actions_stay_the_same(start: Start) -> None:
    rng = Random(start.seed)
    for number, step in enumerate(told_game(start)):
        for viewer in _viewers(start):
            other = redealt(step, viewer, rng)
            seen = view_for(step.turn.after, viewer)
            assert view_for(other, viewer) == seen
            if number % 5 == 0 and viewer is not None:
                assert legal_actions(view_for(other, viewer)) == legal_actions(seen)


@every_start
def test_events_and_what_follows_stay_the_same(start: Start) -> None:
    """Whoever acts. Kept is what the action turns up as well: the card played, the vira, the viewer's own deal."""
    rng = Random(start.seed)
    for step in told_game(start):
        for viewer in _viewers(start):
            followed = _followed(step, viewer, rng)
            if followed is not None:
                other, events = followed
                assert events == step.turn.events
                assert view_for(other, viewer) == view_for(step.turn.after, viewer)


def _followed(step: Step, viewer: Viewer, rng: Random) -> tuple[GameState, tuple[Event, ...]] | None:
    """What a turn comes to when *viewer*'s unknown cards are others; None if it cannot be done with those."""
    turn, rules, turned_up = step.turn, step.after.rules, step.after.known(viewer)
    known = set() if step.before is None else step.before.known(viewer)
    last = redealt_but(set() if step.last_before is None else step.last_before.known(viewer), rules, rng)
    if turn.action is None or turn.seat is None:
        cards = redealt_but(turned_up, rules, rng)
        before = turn.before if step.before is None else with_cards(turn.before, redealt_but(known, rules, rng), last)
        begun = start_hand(before, [cards[card] for card in turn.pack])
        return begun.state, begun.events
    cards = redealt_but(known | turned_up, rules, rng)
    other, action = with_cards(turn.before, cards, last), _changed_action(turn.action, cards)
    if isinstance(action, Show) and viewer != turn.seat and refusal(other, turn.seat, action) is not None:
        return None  # the proof may rest on a card that the seat has covered
    done = apply(other, turn.seat, action)
    return done.state, done.events


def _changed_action(action: Action, cards: Redealt) -> Action:
    """The card in the same place of the hand."""
    if isinstance(action, Play) and action.card is not None:
        return replace(action, card=cards[action.card])
    return action


def _one_of_each_sort(start: Start) -> Iterator[Step]:
    def sort(step: Step) -> tuple[str, str, int]:
        hand = _hand(step.turn.after)
        return hand.phase, hand.kind, len(hand.results)

    rng = Random(start.seed)
    for _, alike in groupby(sorted(told_game(start), key=sort), sort):
        yield rng.choice(list(alike))


@every_start
def test_answers_to_every_action_stay_the_same(start: Start) -> None:
    """Accepted or not, the code and the text of a refusal, and what an own accepted action comes to."""
    rng, universe = Random(start.seed), every_action(start.rules)
    for step in _one_of_each_sort(start):
        state = step.turn.after
        viewer = rng.randrange(start.seats)
        other = redealt(step, viewer, rng)
        for action in universe:
            answer = refusal(state, viewer, action)
            assert refusal(other, viewer, action) == answer
            if answer is None and not _turns_up(step.after, action):
                done, other_done = apply(state, viewer, action), apply(other, viewer, action)
                assert other_done.events == done.events
                assert view_for(other_done.state, viewer) == view_for(done.state, viewer)


def _turns_up(told: Told, action: Action) -> bool:
    """Whether an own action shows the seat a card that it did not know: a deal, or a card played blind."""
    is_blind = len(told.short) == 2 and told.rules.iron_cards != "open"
    return isinstance(action, Deal) or (isinstance(action, Play) and is_blind)


@every_start
def test_refusals_name_no_hidden_card(start: Start) -> None:
    """Nor any card at all, but the one that was asked for."""
    for step in _one_of_each_sort(start):
        named = {str(card) for card in start.rules.deck.cards}
        for action in every_action(start.rules):
            answer = refusal(step.turn.after, 0, action)
            words = set() if answer is None else set(answer[1].replace(",", " ").replace(";", " ").split())
            asked = {str(action.card)} if isinstance(action, Play) else set()
            assert words & named <= asked


@every_start
def test_nothing_hidden_is_printed(start: Start) -> None:
    """A state in a log or a traceback tells no card that not all may know."""
    for step in told_game(start):
        hand, last_hand = _hand(step.turn.after), step.turn.after.table.last_hand
        hidden = set(start.rules.deck.cards) - step.after.known(None)
        printed = repr(replace(step.turn.after, table=replace(step.turn.after.table, last_hand=None)))
        assert not [card for card in hidden - set(start.rules.manilhas or ()) if repr(card) in printed]
        if hand.phase is Phase.OVER:
            assert not [card for card in hidden if repr(card) in repr(last_hand)]


def test_a_folded_hand_stays_hidden() -> None:
    folded = table("paulista", "3C 2C 6C / KD JD 7D / 6H 7H QH / 6S 7S QS", "4D").plays("3C").raises().folds()

    for viewer in (None, 0, 1, 2, 3):
        shown = {held for held, cards in enumerate(folded.view(viewer).cards) if cards is not None}
        assert shown == ({viewer} - {None})
    assert all("6C" not in repr(event) for event in folded.events)


def test_a_covered_card_is_its_owners_for_this_hand_and_the_next() -> None:
    covered = table("paulista", "3C 2C 6C / KD JD 7D / 6H 7H QH / 6S 7S QS", "4D").plays("3C", "KD", "6H", "6S", "*2C")

    seen = [[(card.seat, str(card.card)) for card in covered.view(viewer).covered] for viewer in (None, 0, 1, 2, 3)]
    assert seen == [[], [(0, "2C")], [], [], []]

    ended = covered.plays("JD", "7H", "7S").raises().folds()
    after = ended.next_hand()
    kept = [[str(card.card) for card in after.view(viewer).last_covered] for viewer in (None, 0, 1, 2, 3)]
    assert kept == [[], ["2C"], [], [], []]
    assert after.view(0).covered == ()


def test_partners_look_only_while_they_decide() -> None:
    deciding = table("paulista", "3C 2C 6C / KD JD 7D / 6H 7H QH / 6S 7S QS", "4D", score=(11, 7))

    def seen(at: object, viewer: Viewer) -> list[int]:
        cards = at.view(viewer).cards  # type: ignore[attr-defined]
        return [seat for seat, held in enumerate(cards) if held is not None]

    assert [seen(deciding, viewer) for viewer in (None, 0, 1, 2, 3)] == [[], [0, 2], [1], [0, 2], [3]]
    assert [seen(deciding.accepts(2), viewer) for viewer in (None, 0, 1, 2, 3)] == [[], [0], [1], [2], [3]]
    assert [seen(deciding.folds(2), viewer) for viewer in (None, 0, 1, 2, 3)] == [[], [0], [1], [2], [3]]

"""The scenarios' tables and outcomes: decks, orders, ladders, deals, single tricks, views. Asked of the engine itself.

Each kind of table is a function here that reads its keys and gives a line for each thing that is not as the table says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Final

from service.engine.actions import (
    Accept,
    Action,
    Cut,
    CutKind,
    Deal,
    Fold,
    Play,
    Raise,
    Show,
    apply,
)
from service.engine.cards import HAND_SIZE, Card, Deck, Suit, manilhas_of, strengths
from service.engine.events import CardPlayed, Event
from service.engine.flow import hand_result, play_card, start_hand
from service.engine.rules import AllTied, Penalty, RuleSet, TieLeader
from service.engine.state import (
    DealFrom,
    DealStyle,
    GameState,
    Hand,
    Phase,
    Score,
    Seat,
    Table,
    team_of,
)
from service.engine.view import PlayerView, view_for
from tests.scenario_file import (
    ScenarioError,
    boolean,
    card,
    integer,
    integers,
    mapping,
    members,
    one_of,
    rules_of,
    sequence,
    text,
)
from tests.table import first_hand, pack_for

Differences = Iterator[str]


def _differs(what: str, expected: object, seen: object) -> Differences:
    if expected != seen:
        yield f"expected {what} {expected!r}, saw {seen!r}"


@dataclass(frozen=True)
class Kind:
    """One kind of table: the keys it has beside `id`, `kind`, `preset` and `title`, and what compares them."""

    needed: Collection[str]
    optional: Collection[str]
    compare: Callable[[Mapping[str, object], RuleSet], Differences]


def run_table(value: object) -> list[str]:
    """A line for each difference; [] is a pass. Raises ScenarioError for a table that is not in the format."""
    name = one_of(list(KINDS))(mapping(value, "table").get("kind"), "kind")
    kind = KINDS[name]
    known = ("title", "overrides", *kind.optional)
    found = members(value, "table", ("id", "kind", "preset", *kind.needed), known)
    return list(kind.compare(found, rules_of(found)))


def run_outcome(value: object) -> list[str]:
    """As `run_table`, for who wins the hand after given tricks."""
    outcome = members(value, "outcome", ("tricks", "played", "winner"))
    tricks = [None if trick is None else integer(trick, "tricks") for trick in sequence(outcome["tricks"], "tricks")]
    played = integer(outcome["played"], "played")
    lines = [
        f"expected {played} tricks to be played, it was decided after {count}"
        for count in range(played)
        if hand_result(tricks[:count])[0]
    ]
    is_decided, winner = hand_result(tricks[:played])
    seen = ("all_tied" if winner is None else winner) if is_decided else "undecided"
    return lines + list(_differs("winner", outcome["winner"], seen))


def _deck(found: Mapping[str, object], rules: RuleSet) -> Differences:
    deck = rules.deck
    yield from _differs("size", found["size"], len(deck.cards))
    yield from _differs("size without doubles", found["size"], len(set(deck.cards)))
    yield from _differs("ranks", found["ranks"], list(deck.ranks))
    yield from _differs("suits, weakest manilha first", found["suits"], [str(suit) for suit in reversed(Suit)])
    written = {str(card) for card in deck.cards}
    for absent in sequence(found["absent"], "absent"):
        if absent in written:
            yield f"expected no {absent} in the deck"


def _manilha_table(found: Mapping[str, object], rules: RuleSet) -> Differences:
    yield from _differs("deck", found["deck"], str(rules.deck))
    expected = mapping(found["table"], "table")
    for suit in Suit:
        named = {
            str(rank): {str(manilha.rank) for manilha in manilhas_of(rules.deck, Card.parse(f"{rank}{suit}"))}
            for rank in rules.deck.ranks
        }
        yield from _differs(f"manilhas by vira of {suit}", {key: {rank} for key, rank in expected.items()}, named)


def _grouped(order: Mapping[Card, int], left_out: Collection[Card] = ()) -> list[set[str]]:
    """The cards by strength, strongest first; equal ones together."""
    levels = sorted(set(order.values()), reverse=True)
    groups = [{str(card) for card in order if order[card] == level and card not in left_out} for level in levels]
    return [group for group in groups if group]


def _strength(found: Mapping[str, object], rules: RuleSet) -> Differences:
    yield from _differs("deck", found["deck"], str(rules.deck))
    vira = card(found["vira"], "vira")
    groups = [set(sequence(group, "group")) for group in sequence(found["groups_high_to_low"], "groups_high_to_low")]
    order = strengths(rules.deck, manilhas_of(rules.deck, vira))
    yield from _differs("groups", groups, _grouped(order, [vira]))


def _strength_fixed(found: Mapping[str, object], rules: RuleSet) -> Differences:
    if rules.manilhas is None:
        raise ScenarioError(f"preset: {found['preset']} has no fixed manilhas")
    groups = [
        {written for item in sequence(group, "group") for written in _suits_of(text(item, "group"))}
        for group in sequence(found["groups_high_to_low"], "groups_high_to_low")
    ]
    yield from _differs("groups", groups, _grouped(strengths(rules.deck, rules.manilhas)))


def _suits_of(written: str) -> list[str]:
    """ "3*" is the four cards of that rank."""
    return [written[:-1] + suit for suit in Suit] if written.endswith("*") else [written]


def _count(found: Mapping[str, object], rules: RuleSet) -> Differences:
    for case in sequence(found["cases"], "cases"):
        expected = members(case, "case", ("vira", "manilhas_in_pack", "rank_of_vira_left"))
        vira = card(expected["vira"], "vira")
        pack = [card for card in rules.deck.cards if card != vira]
        manilhas = manilhas_of(rules.deck, vira)
        yield from _differs("manilhas_in_pack", expected["manilhas_in_pack"], len(set(manilhas) & set(pack)))
        left = sum(card.rank == vira.rank for card in pack)
        yield from _differs("rank_of_vira_left", expected["rank_of_vira_left"], left)


def _dealt(rules: RuleSet, dealer: Seat, score: Score = (0, 0), pack: Sequence[Card] = ()) -> GameState:
    """A first hand from *pack*, or from the deck in its order, dealt from the top where there is a choice."""
    return _after_cut(first_hand(rules, dealer, pack or rules.deck.cards, score))


def _after_cut(state: GameState) -> GameState:
    hand = _hand(state)
    if hand.phase is not Phase.CUT:
        return state
    cut = apply(state, state.table.cutter, Cut(cut=CutKind.NONE)).state
    return apply(cut, hand.dealer, Deal(deal_from=DealFrom.TOP, deal_style=DealStyle.ONE_BY_ONE)).state


def _hand(state: GameState) -> Hand:
    assert state.table.hand is not None
    return state.table.hand


def _deal(found: Mapping[str, object], rules: RuleSet) -> Differences:
    players = integer(found["players"], "players")
    state = _dealt(replace(rules, seats=players), players - 1)
    hands = state.secrets.hands
    yield from _differs("players", players, len(hands))
    yield from _differs("cards_per_player", {found["cards_per_player"]}, {len(held) for held in hands})
    vira = [] if _hand(state).vira is None else [_hand(state).vira]
    yield from _differs("vira", found["vira"], len(vira))
    out = {card for held in hands for card in held} | set(vira)
    yield from _differs("stock_left", found["stock_left"], len(set(rules.deck.cards) - out))


def _ladder(found: Mapping[str, object], rules: RuleSet) -> Differences:
    state = _dealt(rules, rules.seats - 1)
    values, paid = [_hand(state).value], {}
    while _raised(state) is not None:
        state = _answered_by_raise(state)
        pending = _hand(state).pending
        assert pending is not None
        values.append(pending.to)
        folded = apply(state, state.table.waited_for[0], Fold()).state.table.last_hand
        assert folded is not None
        paid[str(pending.to)] = folded.points
    yield from _differs("ladder", found["ladder"], values)
    yield from _differs("refusals", mapping(found["refusals"], "refusals"), paid)
    if "special_at" in found:
        yield from _special(found, rules)


def _raised(state: GameState) -> int | None:
    """What the next raise would ask for."""
    value = _hand(state).value
    pending = _hand(state).pending
    return state.table.rules.step_after(value if pending is None else pending.to)


def _answered_by_raise(state: GameState) -> GameState:
    return apply(state, state.table.waited_for[0], Raise()).state


def _special(found: Mapping[str, object], rules: RuleSet) -> Differences:
    special = members(
        {key: value for key, value in found.items() if key.startswith("special_")},
        "ladder",
        ("special_at", "special_value", "special_decline"),
    )
    score = integer(special["special_at"], "special_at")
    state = _dealt(rules, rules.seats - 1, (score, 0))
    yield from _differs("phase at special_at", "eleven", str(_hand(state).phase))
    yield from _differs("special_value", special["special_value"], _hand(state).value)
    declined = apply(state, 0, Fold()).state
    yield from _differs("score after special_decline", (score, special["special_decline"]), declined.table.score)


def _trick(found: Mapping[str, object], rules: RuleSet) -> Differences:
    deck = Deck(one_of([str(deck) for deck in Deck])(found["deck"], "deck"))
    tie_leader = TieLeader(one_of([str(leader) for leader in TieLeader])(found["tie_leader"], "tie_leader"))
    plays = [members(play, "play", ("seat", "card"), ("covered",)) for play in sequence(found["plays"], "plays")]
    seats = [integer(play["seat"], "seat") for play in plays]
    faces = [card(play["card"], "card") for play in plays]
    vira = card(found["vira"], "vira")
    leader = integer(found.get("hand_leader", seats[0]), "hand_leader")
    spare = (card for card in deck.cards if card not in (*faces, vira))
    hands = {seat: (face, next(spare), next(spare)) for seat, face in zip(seats, faces, strict=True)}
    rules = replace(rules, deck=deck, tie_leader=tie_leader, seats=len(seats))
    dealer = (leader - 1) % len(seats)
    state = _dealt(rules, dealer, pack=pack_for(rules, dealer, hands, vira))
    for seat, play in zip(seats, plays, strict=True):
        covered = boolean(play.get("covered", False), "covered")
        state = play_card(state, seat, slot=0, covered=covered).state
    trick = _hand(state).tricks[0]
    yield from _differs("winner", found["winner"], trick.winning_team)
    yield from _differs("a tie", found["winner"] is None, trick.tied)
    yield from _differs("next_leader", found["next_leader"], _hand(state).to_play)


def _seats(found: Mapping[str, object], rules: RuleSet) -> Differences:
    for case in sequence(found["cases"], "cases"):
        expected = members(case, "case", ("players", "dealer", "mao", "cutter", "pe"))
        rules = replace(rules, seats=integer(expected["players"], "players"))
        table = first_hand(rules, integer(expected["dealer"], "dealer"), rules.deck.cards).table
        assert table.hand is not None
        seen = {"mao": table.leader, "cutter": table.cutter, "pe": table.hand.dealer}
        for name, seat in seen.items():
            yield from _differs(f"{name} around dealer {expected['dealer']}", expected[name], seat)


def _next_hand(found: Mapping[str, object], rules: RuleSet) -> Differences:
    optional = ("players", "dealer", "ended", "next_dealer", "next_leader", "previous_value", "next_value")
    for case in sequence(found["cases"], "cases"):
        expected = members(case, "case", (), (*optional, "last_raiser"))
        seats = integer(expected.get("players", rules.seats), "players")
        dealer = integer(expected.get("dealer", seats - 1), "dealer")
        ended = one_of(list(ENDINGS))(expected.get("ended", "ran"), "ended")
        raised_to = integer(expected.get("previous_value", rules.ladder[0]), "previous_value")
        state = ENDINGS[ended](replace(rules, seats=seats), dealer, raised_to)
        state = _after_cut(start_hand(state, rules.deck.cards).state)
        table, hand = state.table, _hand(state)
        seen = {
            "next_dealer": hand.dealer,
            "next_leader": table.leader,
            "next_value": hand.value,
            "last_raiser": hand.raised_by,
        }
        for name in sorted(expected.keys() & seen.keys()):
            yield from _differs(f"{name} after {ended} with dealer {dealer}", expected[name], seen[name])
        if "last_raiser" in expected:
            yield from _either_may_raise(state)


def _either_may_raise(state: GameState) -> Differences:
    """A difference if not both teams may ask for the first step, each on its first turn."""
    for _ in range(2):
        seat = state.table.waited_for[0]
        raised = _hand(apply(state, seat, Raise()).state).pending
        yield from _differs(f"a raise by seat {seat} to", state.table.rules.ladder[1], raised and raised.to)
        state = apply(state, seat, Play(slot=0)).state


def _ran(rules: RuleSet, dealer: Seat, raised_to: int) -> GameState:
    """A hand that is over: raised and accepted up to *raised_to*, then somebody ran from the next step."""
    state = _dealt(rules, dealer)
    while _hand(state).value < raised_to:
        pending = _hand(state).pending
        answer: Action = Accept() if pending is not None and pending.to == raised_to else Raise()
        state = apply(state, state.table.waited_for[0], answer).state
    while _hand(state).phase is not Phase.ANSWER:
        seat = state.table.waited_for[0]
        may_raise = _hand(state).raised_by != team_of(seat)
        state = apply(state, seat, Raise() if may_raise else Play(slot=0)).state
    return apply(state, state.table.waited_for[0], Fold()).state


def _declined(rules: RuleSet, dealer: Seat, _raised_to: int) -> GameState:
    state = _dealt(rules, dealer, (rules.one_short, 0))
    return apply(state, state.table.waited_for[0], Fold()).state


def _all_tied(rules: RuleSet, dealer: Seat, _raised_to: int) -> GameState:
    """A hand whose three tricks tied: the leader and the next seat hold the same three strong ranks."""
    rules = replace(rules, all_tied=AllTied.NOBODY)
    vira = rules.deck.cards[0]
    manilha = rules.deck.rank_after(vira.rank)
    strong = [rank for rank in reversed(rules.deck.ranks) if rank != manilha][:HAND_SIZE]
    leader = (dealer + 1) % rules.seats
    pairs = {
        leader: [Card.parse(f"{rank}{Suit.CLUBS}") for rank in strong],
        (leader + 1) % rules.seats: [Card.parse(f"{rank}{Suit.HEARTS}") for rank in strong],
    }
    weak = (card for card in rules.deck.cards if card.rank not in (*strong, manilha) and card != vira)
    hands = {seat: pairs.get(seat) or [next(weak) for _ in range(HAND_SIZE)] for seat in range(rules.seats)}
    state = _dealt(rules, dealer, pack=pack_for(rules, dealer, hands, vira))
    for slot in range(HAND_SIZE):
        for _ in range(rules.seats):
            state = apply(state, state.table.waited_for[0], Play(slot=slot)).state
    return state


def _penalised(rules: RuleSet, dealer: Seat, _raised_to: int) -> GameState:
    rules = replace(rules, eleven_raise=Penalty.LOSE_POINTS, eleven_decision=False)
    state = _dealt(rules, dealer, (rules.one_short, rules.eleven_value))
    return apply(state, state.table.waited_for[0], Raise()).state


def _shown(rules: RuleSet, dealer: Seat, _raised_to: int) -> GameState:
    """The leader's team wins by showing the two strongest manilhas. It is not the team that is one short."""
    rules = replace(rules, eleven_show=True, eleven_decision=False)
    leader = (dealer + 1) % rules.seats
    vira = rules.deck.cards[0]
    zap, copeta, *_ = manilhas_of(rules.deck, vira)
    hands = {leader: (zap, copeta, rules.deck.cards[1])}
    score = (0, rules.one_short) if team_of(leader) == 0 else (rules.one_short, 0)
    state = _dealt(rules, dealer, score, pack_for(rules, dealer, hands, vira))
    return apply(state, leader, Show()).state


ENDINGS: Final = {
    "ran": _ran,
    "declined": _declined,
    "all_tied": _all_tied,
    "penalty": _penalised,
    "shown": _shown,
}
"""How the hand before ended: each gives a state whose hand is over."""


def _view(found: Mapping[str, object], rules: RuleSet) -> Differences:
    setup = members(found["setup"], "setup", ("players",), ("score", "rounds_done", "after"))
    rules = replace(rules, seats=integer(setup["players"], "players"))
    score = integers(setup.get("score", [0, 0]), "score")
    viewer = integer(found["viewer"], "viewer")
    state = _dealt(rules, rules.seats - 1, (score[0], score[1]))
    whole = state
    for _ in range(integer(setup.get("rounds_done", 0), "rounds_done") * rules.seats):
        state = apply(state, state.table.waited_for[0], Play(slot=_lowest_slot(state))).state
    if one_of(["run", "nothing"])(setup.get("after", "nothing"), "after") == "run":
        state = apply(state, state.table.waited_for[0], Raise()).state
        state = apply(state, state.table.waited_for[0], Fold()).state
    if "opponent_played" in found:
        yield from _covered_by_opponent(found["opponent_played"], state, viewer)
    view = view_for(state, viewer)
    partners = [seat for seat in range(rules.seats) if team_of(seat) == team_of(viewer) and seat != viewer]
    opponents = [seat for seat in range(rules.seats) if team_of(seat) != team_of(viewer)]
    hand = _hand(state)
    in_hands = {card for held in whole.secrets.hands for card in held}
    stock = set(rules.deck.cards) - in_hands - {whole.secrets.vira, _hand(whole).vira}
    seen = {
        "own": {_shown_cards(state, view, viewer)},
        "partner": {_shown_cards(state, view, seat) for seat in partners},
        "opponents": {_shown_cards(state, view, seat) for seat in opponents},
        "vira": {_visible(hand.vira is not None)},
        "manilha": {_visible(view.table.manilhas is not None)},
        "stock": {_visible(bool(stock & set(_cards_in(view))))},
        "table": {_visible(play.card is not None) for trick in hand.tricks for play in trick.plays},
    }
    for name in sorted(seen.keys() & found.keys()):
        expected = one_of(["visible", "hidden"])(found[name], name)
        yield from _differs(f"{name} to seat {viewer}", {expected}, seen[name])
    if "other_side_sees_partner" in found:
        others = [view_for(state, seat) for seat in opponents]
        sees = any(other.cards[seat] is not None for other in others for seat in (viewer, *partners))
        may_see = boolean(found["other_side_sees_partner"], "other_side_sees_partner")
        yield from _differs("other_side_sees_partner", may_see, sees)


def _visible(is_visible: bool) -> str:
    return "visible" if is_visible else "hidden"


def _shown_cards(state: GameState, view: PlayerView, seat: Seat) -> str:
    """Whether *view* shows what *seat* holds: all of it, or nothing."""
    held = [card for card in state.secrets.hands[seat] if card is not None]
    slots = view.cards[seat]
    shown = [] if slots is None else [slot.card for slot in slots if slot.card is not None]
    if shown and shown != held:
        return f"partly visible ({len(shown)} of {len(held)})"
    return _visible(bool(shown))


def _cards_in(part: object) -> Iterator[Card]:
    """Every card that *part* of a view tells; the manilhas of the rules are no dealt cards."""
    if isinstance(part, Card):
        yield part
    elif isinstance(part, RuleSet):
        return
    elif is_dataclass(part):
        for field in fields(part):
            yield from _cards_in(getattr(part, field.name))
    elif isinstance(part, tuple):
        for item in part:
            yield from _cards_in(item)


def _lowest_slot(state: GameState) -> int:
    held = state.secrets.hands[state.table.waited_for[0]]
    return next(slot for slot, card in enumerate(held) if card is not None)


def _covered_by_opponent(value: object, state: GameState, viewer: Seat) -> Differences:
    """Plays on until an opponent of *viewer* covers a card, and then the hand to its end: no face is ever shown."""
    expected = members(value, "opponent_played", ("covered", "card"))
    events: tuple[Event, ...] = ()
    opponent = next(seat for seat in range(state.table.rules.seats) if team_of(seat) != team_of(viewer))
    faces: list[Card] = []
    while _hand(state).phase is not Phase.OVER:
        seat, slot = state.table.waited_for[0], _lowest_slot(state)
        covers = seat == opponent and bool(_hand(state).results)
        face = state.secrets.hands[seat][slot]
        if covers and face is not None:
            faces.append(face)
        transition = apply(state, seat, Play(slot=slot, covered=covers))
        state, events = transition.state, events + transition.events
        if covers and faces[1:] == []:
            yield from _differs("opponent_played", expected, _play_of(state.table, opponent))
            yield from _leaks(faces, view_for(state, viewer))
    if not faces:
        yield "expected an opponent to cover a card, none came to it"
    yield from _leaks(faces, view_for(state, viewer))
    yield from _leaks(faces, view_for(state, None))
    told = [event for event in events if isinstance(event, CardPlayed) and event.seat == opponent and event.covered]
    yield from _differs("faces of covered cards in events", [expected["card"]] * len(faces), [e.card for e in told])
    yield from _leaks(faces, events)


def _play_of(table: Table, seat: Seat) -> dict[str, object]:
    assert table.hand is not None
    play = next(play for play in table.hand.tricks[-1].plays if play.seat == seat)
    return {"covered": play.covered, "card": play.card}


def _leaks(faces: Sequence[Card], told: object) -> Differences:
    for face in set(faces) & set(_cards_in(told)):
        yield f"expected the covered {face} to stay hidden, it was told"


KINDS: Final = {
    "deck": Kind(("size", "ranks", "suits", "absent"), (), _deck),
    "manilha_table": Kind(("deck", "table"), (), _manilha_table),
    "strength": Kind(("deck", "vira", "groups_high_to_low"), (), _strength),
    "strength_fixed": Kind(("groups_high_to_low",), (), _strength_fixed),
    "count": Kind(("cases",), (), _count),
    "deal": Kind(("players", "cards_per_player", "vira", "stock_left"), (), _deal),
    "ladder": Kind(("ladder", "refusals"), ("special_at", "special_value", "special_decline"), _ladder),
    "trick": Kind(("deck", "vira", "tie_leader", "plays", "winner", "next_leader"), ("hand_leader",), _trick),
    "seats": Kind(("cases",), (), _seats),
    "next_hand": Kind(("cases",), (), _next_hand),
    "view": Kind(
        ("setup", "viewer"),
        (
            "own",
            "partner",
            "opponents",
            "vira",
            "manilha",
            "stock",
            "table",
            "other_side_sees_partner",
            "opponent_played",
        ),
        _view,
    ),
}

"""Records: made from the log, written and read as JSON and as text, and checked."""

from __future__ import annotations

import hashlib
import json
import random
import re
import string
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.__main__ import main, read_record
from service.dealer import SeededDealer
from service.engine import flow
from service.engine.actions import (
    Accept,
    Action,
    Cut,
    CutKind,
    Deal,
    Fold,
    Play,
    Raise,
    Resign,
    Show,
    apply,
    legal_actions,
)
from service.engine.cards import ALL_CARDS, Card, Deck, parse_cards
from service.engine.record import (
    GameRecord,
    RecordError,
    build_record,
    decode_action,
    encode_action,
    from_json,
    from_text,
    to_json,
    to_text,
    verify,
)
from service.engine.rules import (
    PRESETS,
    AllTied,
    Dealing,
    ElevenAllTied,
    IronCards,
    Penalty,
    RaiseTiming,
    RuleSet,
    TieLeader,
    UnplayableRulesError,
)
from service.engine.state import DealFrom, DealStyle, GameState, HandReason, Kind, Phase, Seat
from service.engine.view import view_for

DEALER = SeededDealer()
NOTATION = Path(__file__).parents[2] / "docs" / "notation.md"
PLAYERS = ("Ana", "Zé da Silva", '"Chico" \\ ; [x]', "安娜 🂡", "Öz\u00a0É", "-> tied")

Log = tuple[str, ...]


# Random games


def play_on(state: GameState, seed: bytes, rng: random.Random, most: int = 10_000) -> Iterator[tuple[GameState, str]]:
    """Random actions until the game is over, each with the state before it; at *most* so many."""
    for _ in range(most):
        while state.table.hand is None or state.table.hand.phase is Phase.OVER:
            if state.table.result is not None:
                return
            number = 1 if state.table.hand is None else state.table.hand.number + 1
            state = flow.start_hand(state, DEALER.pack(seed, state.table.rules.deck, number)).state
        seats = state.table.waited_for if rng.random() < 0.9 else range(state.table.rules.seats)
        seat = rng.choice([seat for seat in seats if legal_actions(view_for(state, seat))] or state.table.waited_for)
        offered = legal_actions(view_for(state, seat))
        action = rng.choices(offered, [_weight(action) for action in offered])[0]
        yield state, encode_action(seat, action)
        state = apply(state, seat, action).state


def _weight(action: Action) -> float:
    if isinstance(action, Raise) and action.penalty is not None:
        return 0.2
    if isinstance(action, Show):
        return 5
    return 0.2 if isinstance(action, Raise | Fold) else 1


def new_game(rules: RuleSet, seed: bytes) -> GameState:
    return flow.new_game(rules, DEALER.first_dealer(seed, rules.seats)).state


def record_of(variant: str, rules: RuleSet, seed: bytes, log: Log) -> GameRecord:
    names = PLAYERS[: rules.seats]
    game_id = "01k9x3m7qf2v8r4t6w5y0z1b3c"
    return build_record(id=game_id, variant=variant, rules=rules, names=names, seed=seed, log=log, dealer=DEALER)


@cache
def random_log(variant: str, seats: int) -> tuple[RuleSet, bytes, Log]:
    rng = random.Random(f"{variant} {seats}")
    rules, seed = replace(PRESETS[variant].rules, seats=seats), rng.randbytes(32)
    return rules, seed, tuple(token for _, token in play_on(new_game(rules, seed), seed, rng))


@cache
def random_record(variant: str, seats: int) -> GameRecord:
    rules, seed, log = random_log(variant, seats)
    return record_of(variant, rules, seed, log)


@cache
def short_record(variant: str, seats: int, wanted: Callable[[GameRecord], bool]) -> GameRecord:
    """A game to 4 points that is as *wanted*."""
    rules = replace(PRESETS[variant].rules, seats=seats, ladder=(1, 3), target=4)
    for number in range(1_000):
        seed = number.to_bytes(32, "big")
        log = tuple(token for _, token in play_on(new_game(rules, seed), seed, random.Random(number)))
        record = record_of(variant, rules, seed, log)
        if wanted(record):
            return record
    raise AssertionError("no such game")


def replayed(rules: RuleSet, seed: bytes, log: Log) -> Iterator[tuple[GameState, str]]:
    """Each action of *log* with the state before it."""
    state = new_game(rules, seed)
    for token in log:
        if state.table.hand is None or state.table.hand.phase is Phase.OVER:
            number = 1 if state.table.hand is None else state.table.hand.number + 1
            state = flow.start_hand(state, DEALER.pack(seed, rules.deck, number)).state
        yield state, token
        state = apply(state, *decode_action(token)).state


ALL_GAMES = [(variant, seats) for variant in PRESETS for seats in (2, 4, 6)]
every_game = pytest.mark.parametrize(("variant", "seats"), ALL_GAMES)


@every_game
def test_a_random_game_is_the_same_through_json_and_text_and_is_true(variant: str, seats: int) -> None:
    record = random_record(variant, seats)
    assert from_json(json.loads(json.dumps(to_json(record)))) == record
    assert from_text(to_text(record)) == record
    assert verify(record, DEALER) is None


@every_game
def test_a_record_tells_the_whole_game(variant: str, seats: int) -> None:
    rules, seed, log = random_log(variant, seats)
    record = random_record(variant, seats)
    assert record.commitment == hashlib.sha256(seed).hexdigest()
    assert [encode_action(*step) for hand in record.hands for step in hand.actions] == list(log)
    assert [hand.number for hand in record.hands] == list(range(1, len(record.hands) + 1))
    assert all(sorted(map(str, hand.deck)) == sorted(map(str, rules.deck.cards)) for hand in record.hands)
    assert record.score == record.hands[-1].score
    assert record.hands[0].dealer == record.first_dealer


def test_the_random_games_know_nearly_everything() -> None:
    hands = [hand for game in ALL_GAMES for hand in random_record(*game).hands]
    kinds = {type(action) for hand in hands for _, action in hand.actions}
    assert kinds >= {Play, Raise, Accept, Fold, Cut, Deal}
    assert {hand.reason for hand in hands} >= {HandReason.TRICKS, HandReason.FOLDED}
    assert {hand.kind for hand in hands} == set(Kind)
    assert any(action.slot is not None for hand in hands for _, action in hand.actions if isinstance(action, Play))


@pytest.mark.parametrize("reason", [HandReason.SHOWN, HandReason.PENALTY, HandReason.ALL_TIED])
def test_a_hand_that_ends_in_a_rare_way_is_told(reason: HandReason) -> None:
    record = short_record("tradicional", 2, lambda record: any(hand.reason is reason for hand in record.hands))
    assert from_json(json.loads(json.dumps(to_json(record)))) == record
    assert from_text(to_text(record)) == record
    assert verify(record, DEALER) is None


@pytest.mark.parametrize("variant", ["tradicional", "espanhol", "mineiro"])
@pytest.mark.parametrize("seats", [2, 4, 6])
def test_a_game_may_be_resigned_at_any_point(variant: str, seats: int) -> None:
    rules, seed, log = random_log(variant, seats)
    phases = set()
    for length, (state, _) in enumerate(replayed(rules, seed, log)):
        assert state.table.hand is not None
        if (state.table.hand.kind, state.table.hand.phase) in phases:
            continue
        phases.add((state.table.hand.kind, state.table.hand.phase))
        record = record_of(variant, rules, seed, (*log[:length], "1:resign"))
        assert record.hands[-1].reason is HandReason.RESIGNED
        assert (record.hands[-1].hands is None) == (state.table.hand.phase in (Phase.CUT, Phase.DEAL))
        assert from_json(to_json(record)) == record
        assert from_text(to_text(record)) == record
        assert verify(record, DEALER) is None


def test_the_log_may_hold_an_action_in_any_form_the_engine_takes() -> None:
    rules, seed, log = random_log("paulista", 4)
    other: list[str] = []
    for state, token in replayed(rules, seed, log):
        seat, action = decode_action(token)
        if isinstance(action, Play) and action.card is not None:
            action = Play(slot=state.secrets.hands[seat].index(action.card), covered=action.covered)
        other.append(encode_action(seat, Raise() if isinstance(action, Raise) else action))
    assert set(other) & {f"{seat}:raise" for seat in range(4)}
    assert not set(other) & set(log) - {f"{seat}:{answer}" for seat in range(4) for answer in ("accept", "fold")}
    assert record_of("paulista", rules, seed, tuple(other)) == random_record("paulista", 4)


def test_a_vira_that_lay_face_down_to_the_end_is_told() -> None:
    rules, seed = replace(PRESETS["espanhol"].rules, ladder=(1, 2), target=2), bytes(32)
    leader = (DEALER.first_dealer(seed, 4) + 1) % 4
    other = (leader + 1) % 4
    record = record_of(
        "espanhol", rules, seed, (f"{leader}:raise", f"{other}:fold", f"{leader}:fold", f"{other}:resign")
    )
    assert record.hands[2].kind is Kind.MAO_DE_FERRO
    assert record.hands[2].vira == record.hands[2].deck[12]
    assert from_text(to_text(record)) == record
    assert verify(record, DEALER) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log: log[:-1], r"log, hand 2, action 9: is missing: the game is not over"),
        (lambda log: (*log, "0:accept"), r"log: goes on after the end of the game in hand 2"),
        (lambda log: ("0:7D", *log[1:]), r"log, hand 1, action 1: it is the turn of seat 1, not of seat 0"),
        (lambda log: ("1:9D", *log[1:]), r"log, hand 1, action 1: '1:9D' is not an action"),
        (lambda log: ("5:resign", *log[1:]), r"log, hand 1, action 1: there is no seat 5"),
        (lambda log: ("1:cut39", *log[1:]), r"log, hand 1, action 1: seat 1 has no pack to cut in phase play"),
    ],
)
def test_a_log_that_is_not_one_whole_game_makes_no_record(change: Callable[[Log], Log], message: str) -> None:
    record = example()
    log = tuple(encode_action(*step) for hand in record.hands for step in hand.actions)
    with pytest.raises(RecordError, match=f"^{message}$"):
        record_of(record.variant, record.rules, record.seed, change(log))


# The example of the documentation


@cache
def example_text() -> str:
    blocks = re.findall(r"^```truco\n(.*?)^```$", NOTATION.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])


@cache
def example() -> GameRecord:
    return from_text(example_text())


def test_the_example_of_the_documentation_is_a_true_record() -> None:
    record = example()
    assert verify(record, DEALER) is None
    assert [hand.kind for hand in record.hands] == [Kind.NORMAL, Kind.MAO_DE_ONZE]
    assert (1, Play(card=Card.parse("4H"), covered=True)) in record.hands[0].actions
    assert (3, Raise(to=3)) in record.hands[0].actions


def test_the_example_of_the_documentation_is_written_as_the_service_writes() -> None:
    bare = [line.partition(" ;")[0].rstrip() for line in example_text().splitlines() if not line.startswith(";")]
    written = [line.partition(" ;")[0].rstrip() for line in to_text(example()).splitlines()]
    assert [line for line in bare if line] == [line for line in written if line]


def test_the_difference_in_the_documentation_is_what_verify_says() -> None:
    doctored = replace_in(example(), "hands[0].deck[16]", "4H")
    difference = verify(from_json(doctored), DEALER)
    assert difference is not None
    assert f"{difference.sentence} ({difference.place})\n" in NOTATION.read_text(encoding="utf-8")


@pytest.mark.parametrize("word", sorted(set(re.findall(r"^\| (`[0-9]:.*?) \|", NOTATION.read_text(), re.MULTILINE))))
def test_every_word_in_the_documentation_is_read(word: str) -> None:
    for said in re.findall(r"`(.*?)`", word):
        line = re.sub(r"^Trick 1: .*$", f"Trick 1: {said}", example_text(), count=1, flags=re.MULTILINE)
        record = from_text(line)
        assert f" {said}" in to_text(record)


# Tokens

seats_strategy = st.integers(0, 5)
points_strategy = st.integers(1, 99)
cards_strategy = st.sampled_from(list(ALL_CARDS.values()))
slots_strategy = st.integers(0, 2)
penalties = st.sampled_from([None, Penalty.LOSE_POINTS, Penalty.LOSE_GAME])
actions_strategy = st.one_of(
    st.builds(Play, card=cards_strategy, covered=st.booleans()),
    st.builds(Play, slot=slots_strategy, covered=st.booleans()),
    st.builds(Raise, to=st.none() | points_strategy, penalty=penalties),
    st.sampled_from([Accept(), Fold(), Show(), Resign()]),
    st.builds(Cut, cut=st.just(CutKind.AT), at=points_strategy),
    st.builds(Cut, cut=st.sampled_from([CutKind.DRY, CutKind.NONE]), take_for=st.none() | seats_strategy),
    st.builds(Deal, deal_from=st.sampled_from(DealFrom), deal_style=st.sampled_from(DealStyle)),
)


@given(seats_strategy, actions_strategy)
def test_every_action_has_a_token_of_its_own(seat: Seat, action: Action) -> None:
    token = encode_action(seat, action)
    assert decode_action(token) == (seat, action)
    assert re.fullmatch(r"[!-~]{4,26}", token)


@pytest.mark.parametrize(
    ("token", "action"),
    [
        ("0:7H", Play(card=Card.parse("7H"))),
        ("0:12S", Play(card=Card.parse("12S"))),
        ("0:(1D)", Play(card=Card.parse("1D"), covered=True)),
        ("0:#2", Play(slot=2)),
        ("0:(#2)", Play(slot=2, covered=True)),
        ("0:raise", Raise()),
        ("0:raise12", Raise(to=12)),
        ("0:raise!lose_points", Raise(penalty=Penalty.LOSE_POINTS)),
        ("0:raise3!lose_game", Raise(to=3, penalty=Penalty.LOSE_GAME)),
        ("0:accept", Accept()),
        ("0:fold", Fold()),
        ("0:show", Show()),
        ("0:resign", Resign()),
        ("0:cut17", Cut(cut=CutKind.AT, at=17)),
        ("0:cut-dry", Cut(cut=CutKind.DRY)),
        ("0:cut-none>4", Cut(cut=CutKind.NONE, take_for=4)),
        ("0:deal-top-1", Deal(deal_from=DealFrom.TOP, deal_style=DealStyle.ONE_BY_ONE)),
        ("0:deal-bottom-3", Deal(deal_from=DealFrom.BOTTOM, deal_style=DealStyle.THREE_AT_A_TIME)),
    ],
)
def test_tokens_do_not_change(token: str, action: Action) -> None:
    """They lie in stores and in files."""
    assert encode_action(0, action) == token
    assert decode_action(token) == (0, action)


@pytest.mark.parametrize(
    "token",
    [
        *("", "0", "0:", ":7H", "6:7H", "-1:7H", "00:7H", "٠:7H", "0:7h", "0:9H", "0:13C", "0:7H ", " 0:7H", "0:7H\n"),
        "0:(7H",
        "0:7H)",
        "0:#3",
        "0:#",
        "0:#-1",
        "0:#٠",
        "0:raise0",
        "0:raise03",
        "0:raise100",
        "0:raise!",
        "0:raise!forbidden",
        "0:raise3!",
        "0:truco",
        "0:cut0",
        "0:cut",
        "0:cut-at",
        "0:cut17>1",
        "0:cut-dry>6",
        "0:deal",
        "0:deal-top-2",
        "0:deal-top",
        "0:ACCEPT",
        "0:accept,0:fold",
        "0:play",
        "x" * 500,
    ],
)
def test_nothing_else_is_a_token(token: str) -> None:
    with pytest.raises(ValueError, match="is not an action") as error:
        decode_action(token)
    assert str(error.value).isascii()
    assert len(str(error.value)) < 100


# Names and house rules


@given(st.text(max_size=30))
def test_any_name_survives(name: str) -> None:
    record = replace(example(), seats=tuple(replace(seat, name=name) for seat in example().seats))
    text = to_text(record)
    assert from_text(text.encode("utf-8").decode("utf-8")) == record
    assert from_json(json.loads(json.dumps(to_json(record)))) == record


def _rule_set(**values: object) -> RuleSet | None:
    try:
        return RuleSet(**values)  # type: ignore[arg-type]
    except UnplayableRulesError:
        return None


house_rules = st.builds(
    _rule_set,
    deck=st.sampled_from(Deck),
    manilhas=st.none() | st.sampled_from([parse_cards("4C 7H AS 7D"), parse_cards("QC 2H AS 3D")]),
    ladder=st.lists(points_strategy, min_size=2, max_size=8, unique=True).map(lambda steps: tuple(sorted(steps))),
    target=points_strategy,
    legs=st.integers(1, 2),
    raise_timing=st.sampled_from(RaiseTiming),
    all_tied=st.sampled_from(AllTied),
    tie_leader=st.sampled_from(TieLeader),
    covered_from_trick=st.sampled_from([2, 3, None]),
    eleven_decision=st.booleans(),
    eleven_partner_cards=st.booleans(),
    eleven_raise=st.sampled_from(Penalty),
    eleven_all_tied=st.sampled_from(ElevenAllTied),
    eleven_show=st.booleans(),
    iron_cards=st.sampled_from(IronCards),
    iron_raise=st.sampled_from(Penalty),
    dealing=st.sampled_from(Dealing),
    seats=st.just(4),
).filter(lambda rules: rules is not None)


@given(house_rules)
def test_all_rules_are_in_a_record(rules: RuleSet) -> None:
    record = replace(example(), rules=rules)
    assert from_json(to_json(record)).rules == rules
    assert from_text(to_text(record)).rules == rules


@settings(max_examples=20)
@given(house_rules, st.binary(min_size=32, max_size=32), st.sampled_from([2, 4, 6]), st.randoms(use_true_random=False))
def test_a_game_by_any_house_rules_is_true(rules: RuleSet, seed: bytes, seats: int, rng: random.Random) -> None:
    rules = replace(rules, seats=seats)
    steps = list(play_on(new_game(rules, seed), seed, rng, most=60))
    log = tuple(token for _, token in steps)
    last, token = steps[-1]
    if apply(last, *decode_action(token)).state.table.result is None:
        log = (*log, "0:resign")
    record = record_of("paulista", rules, seed, log)
    assert from_json(json.loads(json.dumps(to_json(record)))) == record
    assert from_text(to_text(record)) == record
    assert verify(record, DEALER) is None


# Doctored records


def steps_of(place: str) -> list[str | int]:
    """ "hands[2].deck[16]" as the keys that lead there."""
    return [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", place)]


def place_of(steps: list[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def at(value: object, steps: list[str | int]) -> object:
    for step in steps:
        assert isinstance(value, dict | list)
        value = value[step]  # type: ignore[index]
    return value


def put(whole: object, steps: list[str | int], value: object) -> None:
    inner = at(whole, steps[:-1])
    assert isinstance(inner, dict | list)
    inner[steps[-1]] = value  # type: ignore[index]


def plain(record: GameRecord) -> dict[str, object]:
    """Its JSON, to be changed at will."""
    whole = json.loads(json.dumps(to_json(record)))
    assert isinstance(whole, dict)
    return whole


def replace_in(record: GameRecord, place: str, value: object) -> object:
    """The record's JSON with *value* at *place*."""
    whole = plain(record)
    put(whole, steps_of(place), value)
    return whole


def told(doctored: object) -> tuple[str, str]:
    """Where and how `verify` finds the doctored JSON to differ."""
    difference = verify(from_json(doctored), DEALER)
    assert difference is not None
    assert difference.sentence.isprintable()
    return difference.place, difference.sentence


DOCTORED: list[tuple[str, object, str]] = [
    ("seats[1].team", 0, "seat 1 is in team 0, by its number in team 1"),
    ("commitment", "00" * 32, "the commitment is not the SHA-256 of the seed"),
    ("seed", "00" * 32, "the commitment is not the SHA-256 of the seed"),
    ("first_dealer", 1, "the first dealer is seat 1, the seed gives seat 0"),
    ("hands[0].number", 2, "hand 1: it is left out, hand 2 stands in its place"),
    ("hands[1].number", 1, "hand 2: its number is 1"),
    ("hands[0].kind", "mao_de_ferro", "hand 1: it is a mao_de_ferro hand, at 0-0 it is normal"),
    ("hands[0].dealer", 3, "hand 1: seat 3 deals, it is the turn of seat 0"),
    ("hands[1].deck[16]", "7D", "hand 2: card 17 of the deck is 7D, the seed gives JH"),
    ("hands[1].deck[16]", "12C", "hand 2: card 17 of the deck is 12C, the seed gives JH"),
    ("hands[0].vira", "6H", "hand 1: the vira is 6H, deck and deal give 7H"),
    ("hands[0].vira", None, "hand 1: the vira is none, deck and deal give 7H"),
    ("hands[0].hands", None, "hand 1: nobody has cards, yet they were dealt"),
    ("hands[0].hands[2][1]", "AD", "hand 1: seat 2 has KC AD KH, deck and deal give KC 4C KH"),
    (
        "hands[0].actions[4].card",
        "4C",
        "hand 1: card 1 of trick 2 is KH of seat 2, after action 5 (2:4C) it is 4C of seat 2",
    ),
    ("hands[0].actions[4].card", "QS", "hand 1: action 5 (2:QS) is against the rules: seat 2 cannot name the card QS"),
    (
        "hands[0].actions[4].seat",
        1,
        "hand 1: action 5 (1:KH) is against the rules: it is the turn of seat 2, not of seat 1",
    ),
    ("hands[0].actions[4].seat", 5, "hand 1: action 5 (5:KH) is by a seat that the game does not have"),
    ("hands[0].actions[5].to", 6, "hand 1: action 6 (3:raise6) is against the rules: the next step is 3, not 6"),
    ("hands[0].actions[6].type", "fold", "hand 1: action 8 (3:QD) comes after the end of the hand"),
    ("hands[0].value", 6, "hand 1: it is worth 6, the actions make it 3"),
    ("hands[0].winner", 1, "hand 1: it is won by team 1, the actions say by team 0"),
    ("hands[0].winner", None, "hand 1: it is won by nobody, the actions say by team 0"),
    ("hands[0].points", 1, "hand 1: it scores 1, by the rules 3"),
    ("hands[0].reason", "folded", "hand 1: its reason is folded, the actions say tricks"),
    ("hands[0].shown", {"seat": 0, "cards": ["7S"]}, "hand 1: 7S of seat 0 are shown, the actions say no cards are"),
    (
        "hands[0].tricks[0].plays[3].card",
        "QS",
        "hand 1: card 4 of trick 1 is QS of seat 0, after action 4 (0:7S) it is 7S of seat 0",
    ),
    (
        "hands[0].tricks[1].plays[3]",
        {"seat": 1, "card": "4H", "covered": False},
        "hand 1: card 4 of trick 2 is 4H of seat 1, after action 10 (1:(4H)) it is a covered one of seat 1",
    ),
    ("hands[0].tricks[0].opener", 2, "hand 1: trick 1 is opened by seat 2, after action 1 (1:JC) by seat 1"),
    ("hands[0].tricks[0].winner", 0, "hand 1: trick 1 is won by seat 0, the cards say it is won by seat 2"),
    ("hands[0].tricks[0].winner", None, "hand 1: trick 1 is undecided, the cards say it is won by seat 2"),
    ("hands[0].tricks", [], "hand 1: trick 1 is left out, after action 1 (1:JC) it has a card"),
    ("score", [6, 1], "the score at the end is 6-1, the hands give 6-0"),
    ("result.winner", 1, "the game is won by team 1 (target), the hands say it is won by team 0 (target)"),
    ("result.reason", "resigned", "the game is won by team 0 (resigned), the hands say it is won by team 0 (target)"),
    ("rules.target", 7, "hand 2: it is a mao_de_onze hand, at 3-0 it is normal"),
]


@pytest.mark.parametrize(("place", "value", "sentence"), DOCTORED, ids=[case[2] for case in DOCTORED])
def test_what_is_doctored_is_named(place: str, value: object, sentence: str) -> None:
    doctored = replace_in(example(), place, value)
    _, said = told(doctored)
    assert said == sentence
    try:
        text = to_text(from_json(doctored))
    except RecordError:
        return
    assert from_text(text) == from_json(doctored)


@pytest.mark.parametrize(
    ("edited", "edit", "place", "sentence"),
    [
        ("hands", lambda hands: hands.pop(0), "hands[0].number", "hand 1: it is left out, hand 2 stands in its place"),
        ("hands", lambda hands: hands.pop(), "hands", "hand 2 is left out: nobody has won the game at 3-0"),
        ("hands", lambda hands: hands.clear(), "hands", "hand 1 is left out: nobody has won the game at 0-0"),
        ("hands", lambda hands: hands.append(hands[1]), "hands[2]", "hand 3 comes after the end of the game in hand 2"),
        (
            "hands[0].deck",
            lambda deck: deck.pop(),
            "hands[0].deck[39]",
            "hand 1: card 40 of the deck is missing, the seed gives 6S",
        ),
        (
            "hands[0].deck",
            lambda deck: deck.append("6S"),
            "hands[0].deck[40]",
            "hand 1: card 41 of the deck is 6S, the seed gives no more",
        ),
        (
            "hands[0].actions",
            lambda actions: actions.pop(),
            "hands[0].actions[9]",
            "hand 1: it breaks off after action 9 (0:QS), seat 1 has to act",
        ),
        (
            "hands[1].actions",
            lambda actions: actions.clear(),
            "hands[1].actions[0]",
            "hand 2: it breaks off before its first action, seat 0 or 2 has to act",
        ),
        (
            "hands[0].actions",
            lambda actions: actions.append(actions[0]),
            "hands[0].actions[10]",
            "hand 1: action 11 (1:JC) comes after the end of the hand",
        ),
        (
            "hands[0].actions",
            lambda actions: actions.pop(5),
            "hands[0].actions[5]",
            "hand 1: action 6 (0:accept) is against the rules: no raise waits and the hand is in phase play",
        ),
        (
            "hands[0].tricks",
            lambda tricks: tricks.append(tricks[0]),
            "hands[0].tricks",
            "hand 1: the tricks show cards that no action plays",
        ),
        (
            "hands[0].tricks[1].plays",
            lambda plays: plays.pop(),
            "hands[0].tricks[1].plays[3]",
            "hand 1: card 4 of trick 2 is missing, after action 10 (1:(4H)) it is a covered one of seat 1",
        ),
        (
            "hands[0].tricks[1].plays",
            lambda plays: plays.append(plays[0]),
            "hands[0].tricks[1].plays",
            "hand 1: trick 2 has 5 cards, one a seat is all",
        ),
    ],
)
def test_what_is_left_out_or_added_is_named(
    edited: str, edit: Callable[[object], object], place: str, sentence: str
) -> None:
    whole = plain(example())
    edit(at(whole, steps_of(edited)))
    assert told(whole) == (place, sentence)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("score 3-0", "score 4-0", "hand 1: the score after it is 4-0, the points make 3-0"),
        ('[Score "6-0"]', '[Score "6-3"]', "the score at the end is 6-3, the hands give 6-0"),
        ('[Teams "0 1 0 1"]', '[Teams "0 1 1 0"]', "seat 2 is in team 1, by its number in team 0"),
        ("3:truco", "3:seis", "hand 1: action 6 (3:raise6) is against the rules: the next step is 3, not 6"),
        ("0:QS", "0:QH", "hand 1: action 9 (0:QH) is against the rules: seat 0 cannot name the card QH"),
        ("1:5S -> tied", "1:5S -> seat 3", "hand 2: trick 1 is won by seat 3, the cards say it is tied"),
        ("Deck:    7D KC", "Deck:    KC 7D", "hand 1: card 1 of the deck is KC, the seed gives 7D"),
        ('[tie_leader "opener"]', '[tie_leader "first_tied"]', "hand 2: action 6 (2:QH) is against the rules: it is"),
    ],
)
def test_what_is_doctored_in_text_is_named(old: str, new: str, sentence: str) -> None:
    assert example_text().count(old) == 1
    difference = verify(from_text(example_text().replace(old, new)), DEALER)
    assert difference is not None
    assert difference.sentence.startswith(sentence)


UNDECIDABLE = re.compile(r"actions\[\d+\]\.(seat|cut)$")
"""A partner might as well have answered; knocking and a dry cut leave the same pack."""


def leaves(value: object, steps: list[str | int]) -> Iterator[list[str | int]]:
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, [*steps, step])
    else:
        yield steps


def other_values(value: object) -> list[object]:
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int):
        return [value + 1, max(value - 1, 0), None]
    if value is None:
        return [0, "4C"]
    words = [*("AC", "4C", "12S"), *("fold", "accept", "raise", "resign", "show"), *HandReason, *Kind, *DealFrom]
    return [*words, *DealStyle, *CutKind, "00" * 32, None]


@pytest.mark.parametrize(("variant", "seats"), [("tradicional", 4), ("mano-a-mano", 2), ("espanhol", 6)])
def test_every_value_that_follows_from_others_is_guarded(variant: str, seats: int) -> None:
    record = short_record(variant, seats, lambda record: len(record.hands) > 2 and len(record.hands[-1].tricks) == 3)
    whole, rng = plain(record), random.Random(seats)
    derived = ("seats", "commitment", "seed", "first_dealer", "hands", "score", "result")
    all_steps = [steps for name in derived for steps in leaves(whole[name], [name])]
    checked = 0
    for steps in all_steps:
        place, true = place_of(steps), at(whole, steps)
        if steps[-1] == "name" or UNDECIDABLE.search(place):
            continue
        for value in rng.sample([value for value in other_values(true) if value != true], 2):
            put(whole, steps, value)
            try:
                found, _ = told(whole)
            except RecordError:
                continue
            checked += 1
            if steps[0] == "hands":
                assert found.startswith(place_of(steps[:2])), (place, value)
            elif steps[0] not in ("seed", "seats"):
                assert place.startswith(found), (place, value)
        put(whole, steps, true)
    assert checked > len(all_steps) // 4


# Unreadable records


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("hands[0].actions[4].card", "9Z", "hands[0].actions[4].card: '9Z' is not a card"),
        ("hands[0].actions[4].card", "x" * 999, f"hands[0].actions[4].card: '{'x' * 30}...' is not a card"),
        ("hands[0].actions[4].card", 7, "hands[0].actions[4].card: must be a string, not 7"),
        ("hands[0].actions[4].slot", 0, "hands[0].actions[4]: slot: play takes a card or a slot, not both"),
        ("hands[0].actions[4].to", 3, "hands[0].actions[4].to: is not a member of a record"),
        ("hands[0].actions[4].covered", 0, "hands[0].actions[4].covered: must be true or false, not 0"),
        ("hands[0].actions[4]", [], "hands[0].actions[4]: must be an object, not a list"),
        ("hands[0].actions[4]", {"seat": 1}, "hands[0].actions[4].type: is missing"),
        ("hands[0].actions[4]", {"type": "fold"}, "hands[0].actions[4].seat: is missing"),
        ("hands[0].actions[4]", {"seat": 1, "type": "deal"}, "hands[0].actions[4].deal_from: is missing"),
        ("hands[0].actions[5].penalty", "forbidden", "hands[0].actions[5].penalty: is never forbidden"),
        ("hands[0].actions[5].to", 2**64, "hands[0].actions[5].to: must be 1 to 99, not such a number"),
        ("hands[0].deck[3]", None, "hands[0].deck[3]: must be a string, not null"),
        ("hands[0].hands[3]", ["4C"], "hands[0].hands[3]: must have 3 entries, has 1"),
        ("hands[0].hands", [], "hands[0].hands: must have 4 entries, has 0"),
        ("hands[0].winner", 2, "hands[0].winner: must be 0 to 1, not 2"),
        ("hands[0].points", True, "hands[0].points: must be an integer, not true"),
        ("hands[0].points", 3.0, "hands[0].points: must be an integer, not such a number"),
        ("hands[0].tricks[0].tied", True, "hands[0].tricks[0].winner: must be null in a tied trick"),
        ("hands[0].tricks[0].plays[0].card", None, "hands[0].tricks[0].plays[0].covered: must be true"),
        ("hands[0].reason", "forgotten", "hands[0].reason: must be one of tricks, all_tied, folded, "),
        ("hands[0].score", [3, 0], "hands[0].score: is not a member of a record"),
        ("format", 2, "format: must be 1, not 2"),
        ("id", "a b", "id: must match [0-9A-Za-z_-]{1,64}, not 'a b'"),
        ("metadata", {}, "metadata: is not a member of a record"),
        ("\x1b", 0, "'\\x1b': is not a member of a record"),
        ("seed", "00", "seed: must match [0-9a-f]{64}, not '00'"),
        ("seats[0].name", None, "seats[0].name: must be a string, not null"),
        ("seats[2].seat", 3, "seats[2].seat: must be 2, not 3"),
        ("rules.seats", 6, "seats: must have 6 entries, has 4"),
        ("rules.seats", 5, "rules.seats: must be one of 2, 4, 6, not 5"),
        ("rules.legs", 0, "rules.legs: must be 1 to 2, not 0"),
        ("rules.target", 1, "rules.target: is 1, must be above the ladder's start 1"),
        ("rules.ladder", [1, 1], "rules.ladder: every step must be above the one before"),
        ("rules.manilhas", ["4C"], "rules.manilhas: must be four different cards of french40"),
        ("rules.manilhas", None, "rules.manilhas: must be a list, not null"),
        ("rules.deck", {}, "rules.deck: must be one of french40, french24, spanish40, not an object"),
        ("score", [1, 2, 3], "score: must have 2 entries, has 3"),
        ("result", None, "result: must be an object, not null"),
    ],
)
def test_json_that_is_no_record_is_refused_with_its_place(place: str, value: object, message: str) -> None:
    with pytest.raises(RecordError) as error:
        from_json(replace_in(example(), place, value))
    assert str(error.value).startswith(message)


def test_a_number_that_python_does_not_even_write_is_refused() -> None:
    with pytest.raises(RecordError, match=r"^score\[0\]: must be 0 to 999999, not such a number$"):
        from_json(replace_in(example(), "score[0]", 10**5000))


@pytest.mark.parametrize("value", [None, 1, "", [], {}, [[]], True])
def test_other_json_is_refused(value: object) -> None:
    with pytest.raises(RecordError):
        from_json(value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1:JC", "1:9Z", "'1:9Z' is not an action"),
        ("1:JC", "1:JC=JC", "'1:JC=JC': a face follows an open card that is named by its slot, and only that"),
        ("1:JC", "1:#0", "'1:#0': a face follows an open card that is named by its slot, and only that"),
        ("1:JC", "1:#0=9Z", "'9Z' is not a card"),
        ("1:JC", "7:truco", "'7:truco' is not an action"),
        ("Vira:    7H  ", "Vira:    7H 7H", "'7H 7H' is not a card"),
        ("Seat 1:  7D JC 4H", "Seat 1:  7D JC", "a seat has 3 cards, not 2"),
        ("Seat 1:  7D JC 4H", "Seat 2:  7D JC 4H", "Seat 1 is due here, not Seat 2"),
        ("Seat 3:  JS 3D QD", ";", "cards of 3 seats, the game has 4"),
        ("Eleven:  2:accept", "Eleven:  2:QH", "cards are played in tricks"),
        ("1:JC 2:KC 3:JS 0:7S -> seat 2", "-> seat 2", "a trick with cards ends '-> seat 0' or '-> tied'"),
        ("0:7S -> seat 2", "0:7S -> seat 6", "a trick with cards ends '-> seat 0' or '-> tied'"),
        ("Hand 1:  normal, dealer 0", "Hand 1:  normal", "must read like 'normal, dealer 0'"),
        ("Hand 1:  normal, dealer 0", "Hound 1", "'Hound 1' is not a line of a record"),
        ("Hand 1:  normal, dealer 0", ";", "'Hand' is due here, not 'Deck'"),
        ("value 3, score 3-0", "value 3", "must read like 'team 0 scores 3 by tricks, value 3, score 3-0'"),
        ("value 3, score 6-0", "value 3, score 06-0", "must read like 'team 0 scores 3 by tricks, value 3, score 3-0'"),
        ('[Game "01k9x3m7qf2v8r4t6w5y0z1b3c"]', '[Game "a b"]', "the tag Game must match [0-9A-Za-z_-]{1,64}, not"),
        ('[Seat0 "Ana"]', '[Seat0 "A"na"]', '\'[Seat0 "A"na"]\' is not a tag like [Variant "paulista"]'),
        ('[Seat0 "Ana"]', '[Seat0 "\\u{110000}"]', "no character has such a number"),
        ('[Seat0 "Ana"]', '[Seat0 "Ana"]\n[Seat0 "Ana"]', "the tag Seat0 has been there before"),
        ('[Seat0 "Ana"]', '[Seat0 "Ana"]\n[Date "1990"]', "'Date' is not a tag of a record"),
    ],
)
def test_text_that_is_no_record_is_refused_with_its_line(old: str, new: str, message: str) -> None:
    assert example_text().count(old) == 1
    line = example_text()[: example_text().index(old)].count("\n") + 1
    with pytest.raises(RecordError) as error:
        from_text(example_text().replace(old, new))
    place, _, detail = str(error.value).partition(": ")
    assert detail.startswith(message)
    assert abs(int(place.removeprefix("line ")) - line) <= 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('[Truco "1"]', "", "header: the tag Truco is missing"),
        ('[Seat3 "Davi"]', "", "header: the tag Seat3 is missing"),
        ('[deck "french40"]', "", "deck: is missing"),
        ('[deck "french40"]', '[deck "tarot"]', "deck: must be one of french40, french24, spanish40, not 'tarot'"),
        ('[ladder "1 3 6 9 12"]', '[ladder "1 3 2"]', "ladder: every step must be above the one before"),
        ('[Teams "0 1 0 1"]', '[Teams "0 1"]', "header: the tag Teams must name the team of each of the 4 seats"),
    ],
)
def test_a_header_that_is_no_record_s_is_refused_with_its_tag(old: str, new: str, message: str) -> None:
    with pytest.raises(RecordError) as error:
        from_text(example_text().replace(old, new))
    assert str(error.value) == message


def test_text_may_have_the_line_ends_and_blanks_of_any_editor() -> None:
    text = example_text()
    assert from_text(text.replace("\n", "\r\n")) == example()
    assert from_text(text.replace("\n", "  \n\n")) == example()
    assert from_text(text.replace(" 2:K", "\n\t 2:K").replace(":    ", ":\t")) == example()
    assert from_text(text.replace("3:truco", "3:raise3")) == example()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | cards_strategy.map(str),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=6,
)


@settings(max_examples=150)
@given(st.data())
def test_json_with_anything_anywhere_is_a_record_or_a_record_error(data: st.DataObject) -> None:
    whole = plain(example())
    steps: list[str | int] = []
    while isinstance(inner := at(whole, steps), dict | list) and inner and (not steps or data.draw(st.integers(0, 9))):
        steps.append(data.draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner)))))
    put(whole, steps, data.draw(json_values))
    try:
        record = from_json(whole)
    except RecordError:
        return
    verify(record, DEALER)
    try:
        text = to_text(record)
    except RecordError:
        return
    assert from_text(text) == record


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", ["json", "text"])
def test_a_damaged_file_is_read_or_refused(form: str, seed: int) -> None:
    rng = random.Random(seed)
    record = random_record("tradicional", 2)
    whole = json.dumps(to_json(record)) if form == "json" else to_text(record)
    for _ in range(40):
        content = bytearray(whole.encode("utf-8"))
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(content))
            damage = rng.choice(string.printable).encode("ascii") * rng.randint(0, 2)
            content[place : place + rng.randint(0, 3)] = damage
        try:
            doctored = read_record(bytes(content))
        except ValueError:
            continue
        verify(doctored, DEALER)


# The command


def run(tmp_path: Path, content: bytes | str) -> int:
    file = tmp_path / "record"
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return main(["verify", str(file)])


@pytest.mark.parametrize("write", [lambda record: json.dumps(to_json(record)), to_text])
def test_verify_says_ok(write: Callable[[GameRecord], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, write(example())) == 0
    told = capsys.readouterr()
    assert told.out == "ok: paulista, 4 seats, 2 hands, 19 actions, score 6-0, won by team 0 (target)\n"
    assert told.err == ""


def test_verify_says_where_a_record_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, json.dumps(replace_in(example(), "hands[0].deck[16]", "4H"))) == 1
    told = capsys.readouterr()
    assert told.out == "hand 1: card 17 of the deck is 4H, the seed gives 5C (hands[0].deck[16])\n"
    assert told.err == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "header: the tag Truco is missing"),
        (b"hello", "line 1: 'hello' is not a line of a record"),
        (b"[1, 2]", "line 1: '[1, 2]' is not a tag like [Variant \"paulista\"]"),
        (b"{", "is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"{}", "format: is missing"),
        (b'{"a": 1, "a": 1}', "is not clear: an object in it has a member twice"),
        (b'{"format": NaN}', "is not JSON: NaN"),
        (b'{"format": ' + b"[" * 200_000, "is nested too deeply"),
        (b'{"format": ' + b"1" * 5_000 + b"}", "Exceeds the limit"),
        (b"\xff\xfe{\x00", "is not UTF-8 (byte 0)"),
        (b"\x00\x1b[31m", "line 1: '\\x00\\x1b[31m' is not a line of a record"),
        (b'{"\\ud800": 1}', "'\\ud800': is not a member of a record"),
    ],
)
def test_verify_says_what_it_cannot_read(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, content) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"{tmp_path / 'record'}: {message}")
    assert told.err.count("\n") == 1


def test_verify_says_that_there_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path / "none")]) == 2
    assert main(["verify", str(tmp_path)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"{tmp_path / 'none'}: No such file or directory",
        f"{tmp_path}: Is a directory",
    ]


def test_verify_reads_the_standard_input() -> None:
    command = [sys.executable, "-m", "service", "verify", "-"]
    content = b"\xef\xbb\xbf" + example_text().encode("utf-8")
    done = subprocess.run(command, input=content, capture_output=True, cwd=NOTATION.parents[1], check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"ok: paulista, 4 seats")

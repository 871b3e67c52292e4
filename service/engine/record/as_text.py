"""A record as text that a person can read aloud and a program can replay; the grammar is docs/notation.md."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from service.engine.actions import Accept, Cut, Deal, Fold, Play, Raise, Resign
from service.engine.cards import Card
from service.engine.record.as_json import FORMAT
from service.engine.record.game import GameRecord, HandRecord, RecordError
from service.engine.record.tokens import SeatAction, encode_action
from service.engine.rules import CALLS, Plain, RuleSet, to_plain
from service.engine.state import Kind, Score, Seat, Trick
from service.engine.state import Play as CardOnTable

FORMAT_TAG: Final = "Truco"
NO_VIRA: Final = "none"
_LABEL_WIDTH: Final = 8
_DECK_LINE: Final = 20
"""Cards of the pack on one line."""


def to_text(record: GameRecord) -> str:
    """Raises `RecordError` for tricks that are not those of the actions; `verify` finds fault with them too."""
    blocks = [_header(record)]
    for place, hand in enumerate(record.hands):
        blocks.append(_hand_block(record, hand, f"hands[{place}]"))
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _header(record: GameRecord) -> list[str]:
    tags = {
        FORMAT_TAG: str(FORMAT),
        "Game": record.id,
        "Variant": record.variant,
        **{f"Seat{number}": seat.name for number, seat in enumerate(record.seats)},
        "Teams": " ".join(str(seat.team) for seat in record.seats),
        "FirstDealer": str(record.first_dealer),
        **({"Rematch": "true"} if record.rematch else {}),
        "Score": _score(record.score),
        "Result": f"team {record.result.winner} by {record.result.reason}",
        "Commitment": record.commitment,
        "Seed": record.seed.hex(),
        **{name: _words(value) for name, value in to_plain(record.rules).items()},
    }
    return [f'[{name} "{_escaped(value)}"]' for name, value in tags.items()]


def _words(value: Plain) -> str:
    """A rule's value: a list as its entries, everything else as JSON has it, without quotes."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str | int):
        return str(value)
    return " ".join(map(str, value))


def _escaped(text: str) -> str:
    """For a tag's value, between quotation marks."""
    return _visible(text.replace("\\", "\\\\").replace('"', '\\"'))


def _visible(text: str) -> str:
    """What no terminal and no editor shows is written by its number."""
    return "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in text)


def _score(score: Score) -> str:
    return f"{score[0]}-{score[1]}"


def _cards(cards: Iterable[Card]) -> str:
    return " ".join(map(str, cards))


def _labelled(label: str, content: str) -> str:
    return f"{label + ':':<{_LABEL_WIDTH}} {content}"


def _hand_block(record: GameRecord, hand: HandRecord, place: str) -> list[str]:
    lines = [_labelled(f"Hand {hand.number}", f"{hand.kind}, dealer {hand.dealer}")]
    lines += _deck_lines(hand.deck)
    lines.append(_labelled("Vira", NO_VIRA if hand.vira is None else str(hand.vira)))
    for seat, (cards, owner) in enumerate(zip(hand.hands or (), record.seats, strict=False)):
        lines.append(_labelled(f"Seat {seat}", f"{_cards(cards)} ; {_visible(owner.name)}"))
    lines += _action_lines(record.rules, hand, place)
    if hand.shown is not None:
        lines.append(_labelled(f"Shown {hand.shown.seat}", _cards(hand.shown.cards)))
    winner = "nobody" if hand.winner is None else f"team {hand.winner}"
    scores = f"{winner} scores {hand.points} by {hand.reason}, value {hand.value}, score {_score(hand.score)}"
    return [*lines, _labelled("Over", scores)]


def _deck_lines(deck: tuple[Card, ...]) -> list[str]:
    rows = [deck[start : start + _DECK_LINE] for start in range(0, len(deck), _DECK_LINE)]
    first, *more = map(_cards, rows or [()])
    return [_labelled("Deck", first), *(f"{'':<{_LABEL_WIDTH}} {row}" for row in more)]


def _action_lines(rules: RuleSet, hand: HandRecord, place: str) -> list[str]:
    """The actions before the first trick, then trick by trick."""
    waiting = deque(hand.actions)
    lines = [
        _labelled(label, " ".join(_said(rules, step) for step in steps))
        for label, steps in (("Deal", _take_deal(hand, waiting)), ("Eleven", _take_decision(rules, hand, waiting)))
        if steps
    ]
    for number, trick in enumerate(hand.tricks, 1):
        is_running = number == len(hand.tricks) and not trick.is_decided
        said = _say_trick(rules, trick, waiting, is_running, f"{place}.tricks[{number - 1}]")
        lines.append(_labelled(f"Trick {number}", said))
    if any(isinstance(action, Play) for _, action in waiting):
        raise RecordError(f"{place}.tricks", "lack a card that the actions play")
    if waiting:
        lines.append(_labelled(f"Trick {len(hand.tricks) + 1}", " ".join(_said(rules, step) for step in waiting)))
    return lines


def _take_deal(hand: HandRecord, waiting: deque[SeatAction]) -> list[SeatAction]:
    kinds = (Cut, Deal) if hand.hands else (Cut, Deal, Resign)
    steps: list[SeatAction] = []
    while waiting and isinstance(waiting[0][1], kinds):
        steps.append(waiting.popleft())
    return steps


def _take_decision(rules: RuleSet, hand: HandRecord, waiting: deque[SeatAction]) -> list[SeatAction]:
    decides = hand.kind is Kind.MAO_DE_ONZE and rules.eleven_decision
    if decides and waiting and isinstance(waiting[0][1], Accept | Fold | Resign):
        return [waiting.popleft()]
    return []


def _say_trick(rules: RuleSet, trick: Trick, waiting: deque[SeatAction], is_running: bool, place: str) -> str:
    """Takes from *waiting* all up to the last card of the trick, or everything for one that still runs."""
    if not trick.plays or trick.opener != trick.plays[0].seat:
        raise RecordError(place, "is not opened by the seat of its first card")
    words: list[str] = []
    plays = deque(trick.plays)
    while waiting and (plays or is_running):
        seat, action = waiting.popleft()
        play = None
        if isinstance(action, Play):
            play = plays.popleft() if plays else None
            if play is None or not _lays(seat, action, play):
                raise RecordError(f"{place}.plays", "are not the cards that the actions play")
        words.append(_said(rules, (seat, action), play))
    if plays:
        raise RecordError(f"{place}.plays", "show a card that the actions do not play")
    if trick.is_decided:
        words.append("-> tied" if trick.winner is None else f"-> seat {trick.winner}")
    return " ".join(words)


def _lays(seat: Seat, action: Play, play: CardOnTable) -> bool:
    """Whether *play* can be what lies on the table after *action*."""
    return (seat, action.covered) == (play.seat, play.covered) and (
        action.covered or action.card is None or action.card == play.card
    )


def _said(rules: RuleSet, step: SeatAction, play: CardOnTable | None = None) -> str:
    """An action as a word: its token, with the call of a raise, and with the face of a card named by its slot."""
    seat, action = step
    if isinstance(action, Play) and action.slot is not None and play is not None and not play.covered:
        return f"{encode_action(seat, action)}={play.card}"
    for call, raised in calls(rules).items():
        if action == raised:
            return f"{seat}:{call}"
    return encode_action(seat, action)


def calls(rules: RuleSet) -> dict[str, Raise]:
    """The raises that have a name, in these rules."""
    return {call: Raise(to=step) for call, step in zip(CALLS, rules.ladder[1:], strict=False)}

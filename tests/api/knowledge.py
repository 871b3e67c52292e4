"""What each viewer of a hand may know, written once more from the rulebook.

Nothing here asks the engine who sees what: a hand is told from what was dealt and done, with nothing hidden, and the
rules of section 2 and 3 say which of its cards a viewer knows and what an answer may show.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from service.engine.cards import Card
from service.engine.rules import RuleSet

Viewer = int | None
"""A seat, or None: a spectator, and the host too, who sees no more."""
Faces = dict[str, object]

RANKS: Mapping[str, list[str]] = {
    "french40": ["4", "5", "6", "7", "Q", "J", "K", "A", "2", "3"],
    "french24": ["Q", "J", "K", "A", "2", "3"],
    "spanish40": ["4", "5", "6", "7", "10", "11", "12", "1", "2", "3"],
}
"""Weakest first."""
CARD = re.compile(r"(?<![A-Za-z0-9_-])(?:1[0-2]|[1-7QJKA])[CHSD](?![A-Za-z0-9_-])")
"""A card as it is written in an answer or a log."""


@dataclass(frozen=True)
class Laid:
    """A card on the table, and what lies under it if it is covered."""

    seat: int
    slot: int
    card: Card
    covered: bool


@dataclass(frozen=True)
class ToldHand:
    """One hand with nothing hidden. `dealt` is () before the deal; `vira` None with fixed manilhas."""

    rules: RuleSet
    score: tuple[int, int]
    """When it began."""
    dealt: tuple[tuple[Card, ...], ...] = ()
    vira: Card | None = None
    laid: tuple[Laid, ...] = ()
    decided: bool = False
    """The team at 11 has accepted or folded."""
    shown: tuple[int, tuple[Card, ...]] | None = None
    over: bool = False

    @property
    def teams_at_eleven(self) -> list[int]:
        return [team for team in (0, 1) if self.score[team] == self.rules.target - self.rules.ladder[0]]

    @property
    def is_blind(self) -> bool:
        """A mão de ferro in which nobody sees their own cards."""
        return len(self.teams_at_eleven) == 2 and self.rules.iron_cards != "open"

    @property
    def vira_is_open(self) -> bool:
        """Right after the deal; a hidden one when every seat has played its first card."""
        if self.vira is None or not self.dealt:
            return False
        is_hidden = self.is_blind and self.rules.iron_cards == "blind_hidden_vira"
        return not is_hidden or len(self.laid) >= self.rules.seats

    @property
    def is_deciding(self) -> bool:
        """One team is at 11 and has not said yet whether it plays."""
        is_asked = self.rules.eleven_decision and len(self.teams_at_eleven) == 1 and bool(self.dealt)
        return is_asked and not self.decided and not self.over

    def held(self, seat: int) -> dict[int, Card]:
        """By slot, what *seat* has not played yet."""
        if not self.dealt:
            return {}
        played = {laid.slot for laid in self.laid if laid.seat == seat}
        return {slot: card for slot, card in enumerate(self.dealt[seat]) if slot not in played}

    def sees(self, viewer: Viewer) -> set[int]:
        """Whose held cards lie open before *viewer*: in a blind hand face down even so."""
        if viewer is None:
            return set()
        team = viewer % 2
        if self.is_deciding and self.teams_at_eleven == [team] and self.rules.eleven_partner_cards:
            return set(range(team, self.rules.seats, 2))
        return {viewer}

    def known(self, viewer: Viewer) -> set[Card]:
        """Every card whose place *viewer* may know."""
        known = {laid.card for laid in self.laid if not laid.covered or laid.seat == viewer}
        if self.vira is not None and self.vira_is_open:
            known.add(self.vira)
        if self.shown is not None:
            known.update(self.shown[1])
        if not self.is_blind:
            for seat in self.sees(viewer):
                known.update(self.held(seat).values())
        return known

    def with_laid(self, seat: int, slot: int, covered: bool) -> ToldHand:
        return replace(self, laid=(*self.laid, Laid(seat, slot, self.dealt[seat][slot], covered)))

    def manilhas(self) -> list[str] | None:
        """Those that all know, strongest first."""
        if self.rules.manilhas is not None:
            return list(map(str, self.rules.manilhas))
        if self.vira is None or not self.vira_is_open:
            return None
        ranks = RANKS[self.rules.deck]
        rank = ranks[(ranks.index(self.vira.rank) + 1) % len(ranks)]
        return [f"{rank}{suit}" for suit in "CHSD"]

    def open_vira(self) -> str | None:
        return str(self.vira) if self.vira_is_open else None

    def tricks(self, viewer: Viewer) -> list[list[tuple[int, str | None, bool]]]:
        """Per trick seat, face and covered: the face of a covered card is its owner's alone."""
        plays = [
            (laid.seat, None if laid.covered and laid.seat != viewer else str(laid.card), laid.covered)
            for laid in self.laid
        ]
        seats = self.rules.seats
        return [plays[start : start + seats] for start in range(0, len(plays), seats)]

    def cards(self, viewer: Viewer) -> list[list[tuple[int, str | None]] | None]:
        """Per seat slot and face, None for a hand that is not the viewer's to see."""
        return [
            [(slot, None if self.is_blind else str(card)) for slot, card in self.held(seat).items()]
            if seat in self.sees(viewer)
            else None
            for seat in range(self.rules.seats)
        ]


def faces_due(hand: ToldHand, last: ToldHand | None, viewer: Viewer) -> Faces:
    """All that may lie open in the view of *viewer*, in the shape of `faces_in`."""
    shown = None if last is None or last.shown is None else (last.shown[0], sorted(map(str, last.shown[1])))
    return {
        "cards": hand.cards(viewer),
        "vira": hand.open_vira(),
        "manilhas": hand.manilhas(),
        "tricks": hand.tricks(viewer),
        "last_vira": None if last is None else last.open_vira(),
        "last_tricks": None if last is None else last.tricks(viewer),
        "shown": shown,
    }


def faces_in(view: Mapping[str, object]) -> Faces:
    """All faces of a view by their places; they are taken out of *view*, so that what is left must have none."""
    hand, last = _members(view["hand"]), _members(view["last_hand"] or {"vira": None, "tricks": None, "shown": None})
    rules, shown = _members(view["rules"]), last.pop("shown")
    del rules["manilhas"]
    seats = view["seats"]
    assert isinstance(seats, list)
    return {
        "cards": [None if cards is None else _slots(cards) for cards in (seat.pop("cards") for seat in seats)],
        "vira": hand.pop("vira"),
        "manilhas": hand.pop("manilhas"),
        "tricks": _plays(hand.pop("tricks")),
        "last_vira": last.pop("vira"),
        "last_tricks": _plays(last.pop("tricks")),
        "shown": None if shown is None else (shown["seat"], sorted(shown["cards"])),
    }


def _members(value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    return value


def _slots(cards: list[dict[str, object]]) -> list[tuple[object, object]]:
    return [(held["slot"], held["card"]) for held in cards]


def _plays(tricks: object) -> list[list[tuple[object, object, object]]] | None:
    if tricks is None:
        return None
    assert isinstance(tricks, list)
    return [[(play["seat"], play["card"], play["covered"]) for play in trick["plays"]] for trick in tricks]

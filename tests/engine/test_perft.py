"""How many sequences of actions there are from fixed deals: a rule that gains or loses one changes a count.

The first counts of each row can be reckoned by hand. In paulista 4 is three cards and a raise; 18 is 3 x 4 after a card
(three cards or a raise by the next seat) and 6 after a raise (accept, fold or raise by either partner). The 45 of
tradicional-cut are 39 depths and, dry or none, nobody, the cutter or its partner to take cards for.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from service.engine.actions import Action, apply, legal_actions
from service.engine.state import GameState, Phase, Seat
from service.engine.view import view_for
from tests.table import table, undealt_table

FRENCH_4 = "3C 2C 6C / KD JD 7D / 6H 7H QH / 6S 7S QS"
FRENCH_2 = "3C 6C 2C / KD JD 7D"
FRENCH_6 = "3C 2C 6C / KD JD 7D / 6H 7H QH / 6S 7S QS / AH JC 4H / KS JS 2D"
SPANISH_4 = "3C 2C 4C / 12D 11D 5D / 4H 5H 6H / 4S 5S 6S"
CLEAN_4 = "3C JC KC / QD JD KD / 3S JH KH / 2S JS KS"
SURE_4 = "5C 5H 6C / 3D 2D 7D / 6H 7H QH / 6S 7S QS"
FIXED_4 = "3C 2C 6C / KD JD 6D / 6H 3H QH / 6S 7S QS"


POSITIONS = {
    "paulista": table("paulista", FRENCH_4, "4D"),
    "paulista-eleven": table("paulista", FRENCH_4, "4D", score=(11, 7)),
    "paulista-iron": table("paulista", FRENCH_4, "4D", score=(11, 11)),
    "paulista-second-trick": table("paulista", FRENCH_2, "4D", seats=2).plays("3C", "KD"),
    "paulista-limpo": table("paulista-limpo", CLEAN_4, "3H"),
    "espanhol": table("espanhol", SPANISH_4, "7D"),
    "espanhol-iron": table("espanhol", SPANISH_4, "7D", score=(11, 11)),
    "tradicional": table("tradicional", FRENCH_4, "4D"),
    "tradicional-cut": undealt_table("tradicional"),
    "tradicional-eleven": table("tradicional", SURE_4, "4D", score=(11, 7)),
    "tradicional-eleven-poor": table("tradicional", SURE_4, "4D", score=(11, 2)),
    "tradicional-iron": table("tradicional", SURE_4, "4D", score=(11, 11)),
    "tradicional-6": table("tradicional", FRENCH_6, "4D", seats=6),
    "sulista": table("sulista", SPANISH_4, "7D", score=(11, 11)),
    "sulista-cut": undealt_table("sulista", seats=6),
    "sulista-iron": table("sulista", SPANISH_4, "7D", score=(23, 23)),
    "simples": table("simples", FRENCH_2, "4D", seats=2),
    "simples-iron": table("simples", FRENCH_2, "4D", seats=2, score=(11, 11)),
    "mano-a-mano": table("mano-a-mano", FRENCH_2, "4D"),
    "mano-a-mano-eleven": table("mano-a-mano", FRENCH_2, "4D", score=(11, 7)),
    "mano-a-mano-iron": table("mano-a-mano", FRENCH_2, "4D", score=(11, 11)),
    "manilha-velha": table("manilha-velha", FIXED_4),
    "mineiro": table("mineiro", FIXED_4),
    "mineiro-ten": table("mineiro", FIXED_4, score=(10, 6)),
    "mineiro-iron": table("mineiro", FIXED_4, score=(10, 10)),
}

COUNTS = {
    "paulista": [4, 18, 72, 280, 1127],
    "paulista-eleven": [4, 6, 18, 54, 162, 648],
    "paulista-iron": [3, 9, 27, 81, 324, 1296],
    "paulista-second-trick": [5, 23, 37, 110, 165, 334, 476],
    "paulista-limpo": [4, 18, 72, 280],
    "espanhol": [4, 18, 72, 280],
    "espanhol-iron": [3, 9, 27, 81, 162, 324],
    "tradicional": [7, 45, 223, 1061],
    "tradicional-cut": [45, 180, 1260],
    "tradicional-eleven": [4, 16, 42, 126, 378, 1410],
    "tradicional-eleven-poor": [4, 12, 30, 90, 270, 1086],
    "tradicional-iron": [8, 21, 63, 189, 705],
    "tradicional-6": [9, 81, 513],
    "sulista": [7, 45, 223, 1061],
    "sulista-cut": [47, 188, 1692],
    "sulista-iron": [7, 21, 63, 189, 648],
    "simples": [4, 15, 60, 244, 479],
    "simples-iron": [3, 9, 18, 36, 24, 24],
    "mano-a-mano": [4, 15, 60, 244, 479, 1538],
    "mano-a-mano-eleven": [4, 12, 45, 180, 180, 360],
    "mano-a-mano-iron": [4, 12, 27, 54, 48, 48],
    "manilha-velha": [4, 18, 72, 280],
    "mineiro": [4, 18, 72, 280],
    "mineiro-ten": [4, 6, 18, 54, 162, 648],
    "mineiro-iron": [3, 9, 27, 81, 162, 324],
}
"""By position: how many sequences of 1, 2, 3, … actions. One that ends the hand earlier is not counted further."""


def _options(state: GameState) -> Iterator[tuple[Seat, Action]]:
    for seat in range(state.table.rules.seats):
        for action in legal_actions(view_for(state, seat)):
            yield seat, action


def perft(state: GameState, depth: int) -> int:
    """The number of legal sequences of *depth* actions of this hand."""
    hand = state.table.hand
    if depth == 0:
        return 1
    if hand is None or hand.phase is Phase.OVER:
        return 0
    if depth == 1:
        return sum(1 for _ in _options(state))
    return sum(perft(apply(state, seat, action).state, depth - 1) for seat, action in _options(state))


@pytest.mark.parametrize("name", POSITIONS)
def test_the_number_of_sequences(name: str) -> None:
    state = POSITIONS[name].state
    for depth, expected in enumerate(COUNTS[name], start=1):
        if perft(state, depth) != expected:
            split = {
                f"seat {seat} {action}": perft(apply(state, seat, action).state, depth - 1)
                for seat, action in _options(state)
            }
            listed = "\n".join(f"  {count} after {action}" for action, count in split.items())
            pytest.fail(f"{name} to depth {depth}: expected {expected}, saw {sum(split.values())}\n{listed}")

"""Copies of values: as `dataclasses` makes them, and of a card only itself."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from service.engine.cards import ALL_CARDS
from service.engine.state import Phase
from service.engine.values import replace
from tests.table import table


def test_a_value_is_replaced_as_dataclasses_do_it() -> None:
    played = table("paulista").plays("4C").state
    hand = played.table.hand
    assert hand is not None
    for changes in ({}, {"phase": Phase.OVER, "to_play": None}, {"number": 7, "tricks": ()}):
        assert replace(hand, **changes) == dataclasses.replace(hand, **changes)
    with pytest.raises(KeyError):
        replace(hand, colour="red")


def test_a_copy_of_a_card_is_the_card() -> None:
    for card in ALL_CARDS.values():
        assert pickle.loads(pickle.dumps(card)) is copy.deepcopy(card) is copy.copy(card) is card

"""The shuffle, against api.md section 8 spelled out once more, and against numbers that may never change."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from itertools import product

import pytest

from service.dealer import SEED_BYTES, SeededDealer
from service.engine.cards import Deck
from service.engine.record import commitment_of

DEALER = SeededDealer()
SEEDS = [bytes(32), bytes(range(32)), b"\xff" * 32, hashlib.sha256(b"truco").digest()]
RANKS = {
    Deck.FRENCH40: "4 5 6 7 Q J K A 2 3",
    Deck.FRENCH24: "Q J K A 2 3",
    Deck.SPANISH40: "4 5 6 7 10 11 12 1 2 3",
}


def stream(seed: bytes, label: str, blocks: int = 20) -> list[int]:
    """Block k = HMAC-SHA-256(seed, ASCII `<label>:<k>`), k from 0, bytes in order."""
    mixed = [hmac.new(seed, f"{label}:{k}".encode("ascii"), hashlib.sha256).digest() for k in range(blocks)]
    return list(b"".join(mixed))


def shuffled(seed: bytes, deck: Deck, hand: int) -> list[str]:
    cards = [rank + suit for rank in RANKS[deck].split() for suit in ("C", "H", "S", "D")]
    taken = stream(seed, f"hand:{hand}")
    i = len(cards) - 1
    while i >= 1:
        b = taken.pop(0)
        if b >= 256 - 256 % (i + 1):
            continue
        j = b % (i + 1)
        cards[i], cards[j] = cards[j], cards[i]
        i -= 1
    return cards


def first_dealer(seed: bytes, seats: int) -> int:
    for b in stream(seed, "dealer"):
        if b < 256 - 256 % seats:
            return b % seats
    raise AssertionError("640 bytes in a row were skipped")


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.hex()[:8])
@pytest.mark.parametrize("deck", Deck)
def test_packs_follow_the_published_algorithm(seed: bytes, deck: Deck) -> None:
    for hand in (*range(1, 40), 99, 100, 1000):
        assert [str(card) for card in DEALER.pack(seed, deck, hand)] == shuffled(seed, deck, hand)


@pytest.mark.parametrize("seats", [2, 4, 6])
def test_the_first_dealer_follows_the_published_algorithm(seats: int) -> None:
    for number in range(300):
        seed = hashlib.sha256(f"{number}".encode()).digest()
        assert DEALER.first_dealer(seed, seats) == first_dealer(seed, seats)


def test_bytes_that_would_favour_low_numbers_are_skipped() -> None:
    """Some seed's first byte is one of those, for every bound that has them."""
    skipped = Counter(
        seats
        for number, seats in product(range(300), (2, 4, 6))
        if stream(hashlib.sha256(f"{number}".encode()).digest(), "dealer", 1)[0] >= 256 - 256 % seats
    )

    assert skipped[6] > 0 and skipped[2] == skipped[4] == 0


PACK_OF_ZERO_SEED = (
    "6S 6D QH KS 2D 4S KH QD 7D JH 4C 5S QS 4D JS QC 7H 6H 5D 7S "
    "7C AS JC JD KD 3S AH 6C 5H 2H AC 2C 3H 5C 3C AD KC 2S 3D 4H"
)
FIRST_DEALERS = [0, 3, 1, 1]


def test_the_zero_seed_gives_these_packs_for_ever() -> None:
    pack = " ".join(str(card) for card in DEALER.pack(bytes(32), Deck.FRENCH40, 1))

    assert pack == PACK_OF_ZERO_SEED
    assert [DEALER.first_dealer(seed, 4) for seed in SEEDS] == FIRST_DEALERS


def test_the_commitment_is_the_sha256_of_the_seed() -> None:
    assert commitment_of(bytes(32)) == "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"
    assert all(commitment_of(seed) == hashlib.sha256(seed).hexdigest() for seed in SEEDS)


def test_a_pack_is_the_whole_deck_and_each_hand_has_its_own() -> None:
    packs = {DEALER.pack(SEEDS[1], Deck.SPANISH40, hand) for hand in range(1, 200)}

    assert len(packs) == 199
    assert all(sorted(pack, key=str) == sorted(Deck.SPANISH40.cards, key=str) for pack in packs)


def test_seeds_are_256_bits_and_never_the_same() -> None:
    seeds = {DEALER.new_seed() for _ in range(50)}

    assert len(seeds) == 50
    assert {len(seed) for seed in seeds} == {SEED_BYTES} == {32}


def test_no_card_has_a_favourite_place() -> None:
    """Chi-squared of a card's place and of a place's card over 2,400 packs: above 60 once in 25,000 fair shuffles."""
    packs = [DEALER.pack(SEEDS[3], Deck.FRENCH24, hand) for hand in range(1, 2401)]
    expected = len(packs) / 24

    for card in (Deck.FRENCH24.cards[0], Deck.FRENCH24.cards[13], Deck.FRENCH24.cards[23]):
        places = Counter(pack.index(card) for pack in packs)
        assert sum((places[place] - expected) ** 2 / expected for place in range(24)) < 60
    for place in (0, 11, 23):
        cards = Counter(pack[place] for pack in packs)
        assert sum((cards[card] - expected) ** 2 / expected for card in Deck.FRENCH24.cards) < 60

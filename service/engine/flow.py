"""How a hand runs: deal, trick, hand, game. What follows from an action; whether it is legal is not asked here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from service.engine.cards import COVERED_STRENGTH, HAND_SIZE, Card
from service.engine.events import (
    CardPlayed,
    Event,
    GameStarted,
    GameWon,
    HandDealt,
    HandTied,
    HandWon,
    Transition,
    TrickTied,
    TrickWon,
    ViraShown,
)
from service.engine.rules import (
    Dealing,
    IronCards,
    RuleSet,
    TieLeader,
)
from service.engine.state import (
    CoveredCard,
    DealFrom,
    DealStyle,
    GameReason,
    GameState,
    Hand,
    HandReason,
    Kind,
    LastHand,
    Phase,
    Play,
    Result,
    Score,
    Seat,
    Secrets,
    Shown,
    Table,
    Team,
    Trick,
    team_of,
)
from service.engine.values import replace

Item = TypeVar("Item")


def new_game(rules: RuleSet, first_dealer: Seat, score: Score = (0, 0)) -> Transition:
    """A table before its first hand; `start_hand` is next."""
    table = Table(rules=rules, first_dealer=first_dealer, score=score)
    return Transition(GameState(table, Secrets()), (GameStarted(first_dealer=first_dealer),))


def start_hand(state: GameState, pack: Sequence[Card]) -> Transition:
    """The next hand with *pack* (top first, the whole deck); the deal has passed to the next seat.

    With `dealing: cut` it waits for the cutter, otherwise it is dealt from the top, one by one.
    """
    table = state.table
    dealer = table.first_dealer if table.hand is None else (table.hand.dealer + 1) % table.rules.seats
    kind = _kind_of_next_hand(table)
    hand = Hand(
        number=1 if table.hand is None else table.hand.number + 1,
        kind=kind,
        dealer=dealer,
        value=table.rules.eleven_value if kind is Kind.MAO_DE_ONZE else table.rules.ladder[0],
        phase=Phase.CUT,
    )
    waiting = GameState(
        replace(table, hand=hand),
        Secrets(pack=tuple(pack), last_covered=state.secrets.covered),
    )
    if table.rules.dealing is Dealing.CUT:
        return Transition(waiting)
    return deal(waiting, DealFrom.TOP, DealStyle.ONE_BY_ONE)


def _kind_of_next_hand(table: Table) -> Kind:
    if table.eleven_team is not None:
        return Kind.MAO_DE_ONZE
    both_short = all(points == table.rules.one_short for points in table.score)
    return Kind.MAO_DE_FERRO if both_short else Kind.NORMAL


def deal(state: GameState, deal_from: DealFrom, deal_style: DealStyle) -> Transition:
    """Three cards to each seat from the leader on, then the vira from the same end (S2, "Embaralhamento")."""
    table, hand, rules = state.table, state.table.hand, state.table.rules
    assert hand is not None
    hands, vira = dealt_cards(state.secrets.pack, rules.seats, table.leader, hand.take_for, deal_from, deal_style)
    turned = None if rules.manilhas is not None else vira
    hidden = table.is_blind and rules.iron_cards is IronCards.BLIND_HIDDEN_VIRA
    decides = hand.kind is Kind.MAO_DE_ONZE and rules.eleven_decision
    dealt = replace(
        hand,
        phase=Phase.ELEVEN if decides else Phase.PLAY,
        to_play=table.leader,
        vira=None if hidden else turned,
    )
    table = replace(table, hand=dealt)
    secrets = replace(state.secrets, hands=hands, pack=(), vira=turned if hidden else None)
    events: list[Event] = [
        HandDealt(
            number=hand.number,
            kind=hand.kind,
            dealer=hand.dealer,
            deal_from=deal_from,
            deal_style=deal_style,
        )
    ]
    if dealt.vira is not None:
        events.append(_vira_shown(table))
    return Transition(GameState(table, secrets), tuple(events))


def dealt_cards(
    pack: Sequence[Card],
    seats: int,
    leader: Seat,
    take_for: Seat | None,
    deal_from: DealFrom,
    deal_style: DealStyle,
) -> tuple[tuple[tuple[Card, ...], ...], Card]:
    """Each seat's three cards by slot, and the next card of the same end.

    *pack* is top first and already cut; *take_for* holds its top three cards already, so the deal skips that seat.
    """
    taken = tuple(pack[:HAND_SIZE]) if take_for is not None else ()
    rest = pack[len(taken) :]
    stock = iter(rest if deal_from is DealFrom.TOP else reversed(rest))
    order = [seat for seat in ((leader + i) % seats for i in range(seats)) if seat != take_for]
    hands: list[list[Card]] = [[] for _ in range(seats)]
    if take_for is not None:
        hands[take_for].extend(taken)
    if deal_style is DealStyle.THREE_AT_A_TIME:
        for seat in order:
            hands[seat].extend(next(stock) for _ in range(HAND_SIZE))
    else:
        for _ in range(HAND_SIZE):
            for seat in order:
                hands[seat].append(next(stock))
    return tuple(map(tuple, hands)), next(stock)


def _vira_shown(table: Table) -> ViraShown:
    assert table.hand is not None and table.hand.vira is not None and table.manilhas is not None
    return ViraShown(vira=table.hand.vira, manilhas=table.manilhas)


def play_card(state: GameState, seat: Seat, slot: int, covered: bool) -> Transition:
    """*seat* lays the card in *slot* on the table; what it decides (trick, hand, game) follows at once."""
    table, hand = state.table, state.table.hand
    assert hand is not None
    cards = state.secrets.hands[seat]
    card = cards[slot]
    assert card is not None
    before, running = hand.tricks, Trick(opener=seat, plays=())
    if before and not before[-1].is_decided:
        before, running = before[:-1], before[-1]
    running = Trick(running.opener, (*running.plays, Play(seat, None if covered else card)))
    hand = replace(hand, tricks=(*before, running), to_play=(seat + 1) % table.rules.seats)
    secrets = replace(state.secrets, hands=_replaced(state.secrets.hands, seat, _replaced(cards, slot, None)))
    if covered:
        secrets = replace(secrets, covered=(*secrets.covered, CoveredCard(seat, len(before), card)))
    played = CardPlayed(
        seat=seat,
        slot=slot if table.is_blind else None,
        card=None if covered else card,
        covered=covered,
    )
    table = replace(table, hand=hand)
    if len(running.plays) < table.rules.seats:
        return Transition(GameState(table, secrets), (played,))
    decided = _decide_trick(GameState(table, secrets))
    return Transition(decided.state, (played, *decided.events))


def _replaced(items: tuple[Item, ...], place: int, item: Item) -> tuple[Item, ...]:
    return (*items[:place], item, *items[place + 1 :])


def _decide_trick(state: GameState) -> Transition:
    events: list[Event] = []
    table, secrets = state.table, state.secrets
    assert table.hand is not None
    if secrets.vira is not None:
        table = replace(table, hand=replace(table.hand, vira=secrets.vira))
        secrets = replace(secrets, vira=None)
        events.append(_vira_shown(table))
    hand = table.hand
    assert hand is not None
    running, strength = hand.tricks[-1], table.strengths
    played = [(play.seat, COVERED_STRENGTH if play.card is None else strength[play.card]) for play in running.plays]
    winner, next_opener = trick_result(played, table.rules.tie_leader, table.leader)
    running = replace(running, winner=winner, tied=winner is None)
    hand = replace(hand, tricks=(*hand.tricks[:-1], running), to_play=next_opener)
    state = GameState(replace(table, hand=hand), secrets)
    is_decided, winning_team = hand_result(hand.results)
    number = len(hand.tricks)
    if winner is not None:
        events.append(TrickWon(seat=winner, trick=number, team=team_of(winner)))
    else:
        events.append(TrickTied(trick=number, next_opener=None if is_decided else next_opener))
    if not is_decided:
        return Transition(state, tuple(events))
    ended = _end_played_hand(state, winning_team)
    return Transition(ended.state, (*events, *ended.events))


def trick_result(
    played: Sequence[tuple[Seat, int]], tie_leader: TieLeader, hand_leader: Seat
) -> tuple[Seat | None, Seat]:
    """The seat that won the trick, None if it tied, and the seat that opens the next one.

    *played* is seat and strength in the order of play (`COVERED_STRENGTH` for a covered card). Equal top cards of one
    team win for it, led by whoever played first of them; of both teams they tie, as do covered cards only (rulebook 2).
    """
    top = max(strength for _, strength in played)
    at_top = [seat for seat, strength in played if strength == top]
    if len({team_of(seat) for seat in at_top}) == 1:
        return at_top[0], at_top[0]
    openers = {
        TieLeader.OPENER: played[0][0],
        TieLeader.FIRST_TIED: at_top[0],
        TieLeader.LAST_TIED: at_top[-1],
        TieLeader.HAND_LEADER: hand_leader,
    }
    return None, openers[tie_leader]


def hand_result(results: Sequence[Team | None]) -> tuple[bool, Team | None]:
    """Is the hand decided, and for which team; (True, None) when all three tricks tied.

    *results* are the tricks decided so far: the winning team, None for a tie (rulebook 2, "Who wins the hand").
    """
    if len(results) < HAND_SIZE - 1:
        return False, None
    first, second, *third = results
    if first is None and second is not None:
        return True, second
    if first is not None and second in (first, None):
        return True, first
    if not third:
        return False, None
    return True, first if third[0] is None else third[0]


def _end_played_hand(state: GameState, winner: Team | None) -> Transition:
    hand = state.table.hand
    assert hand is not None
    if winner is not None:
        return win_hand(state, winner, hand.value, HandReason.TRICKS)
    winner = state.table.winner_if_all_tied
    if winner is not None:
        return win_hand(state, winner, hand.value, HandReason.ALL_TIED)
    ended = close_hand(state, HandReason.ALL_TIED)
    return Transition(ended, (HandTied(score=ended.table.score),))


def win_hand(state: GameState, team: Team, points: int, reason: HandReason, shown: Shown | None = None) -> Transition:
    """The hand ends and *team* scores *points* for it, which may win the game; the score may pass the target."""
    table = state.table
    score = add_points(table.score, team, points)
    ended = close_hand(
        GameState(replace(table, score=score), state.secrets),
        reason,
        winner=team,
        points=points,
        shown=shown,
    )
    won = HandWon(team=team, points=points, reason=reason, score=score)
    if score[team] < table.rules.target:
        return Transition(ended, (won,))
    game = win_game(ended, team, GameReason.TARGET)
    return Transition(game.state, (won, *game.events))


def add_points(score: Score, team: Team, points: int) -> Score:
    return (score[0] + points, score[1]) if team == 0 else (score[0], score[1] + points)


def close_hand(
    state: GameState,
    reason: HandReason,
    winner: Team | None = None,
    points: int = 0,
    shown: Shown | None = None,
) -> GameState:
    """The hand is over and is now also the last hand. Scores nothing by itself."""
    table, hand = state.table, state.table.hand
    assert hand is not None
    last_hand = LastHand(
        number=hand.number,
        kind=hand.kind,
        vira=hand.vira,
        value=hand.value,
        tricks=hand.tricks,
        winner=winner,
        points=points,
        reason=reason,
        shown=shown,
    )
    over = replace(hand, phase=Phase.OVER, to_play=None, pending=None)
    secrets = replace(state.secrets, last_covered=state.secrets.covered)
    return GameState(replace(table, hand=over, last_hand=last_hand), secrets)


def win_game(state: GameState, team: Team, reason: GameReason) -> Transition:
    table = replace(state.table, result=Result(team, reason))
    return Transition(GameState(table, state.secrets), (GameWon(team=team, reason=reason),))

"""The rules of Truco, pure: no clock, no I/O, no randomness, standard library only.

A deal is an argument. `apply` turns a state, a seat and an action into a `Transition`, or raises `IllegalAction`.
"""

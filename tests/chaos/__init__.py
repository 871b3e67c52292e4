"""Broken machines, lost answers and heavy load, against real servers on loopback: nothing acknowledged may be lost.

`python -m tests.chaos` runs every script, `python -m tests.chaos NAME…` some; each stops by itself, prints what it
counted, and ends with 1 if a promise was broken. Those that take seconds run in the tests too.
"""

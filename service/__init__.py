"""Truco as a service: rules, store and HTTP, one package each."""

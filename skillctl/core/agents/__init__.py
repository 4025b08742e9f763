"""Agents that come and go: who works where, what a new one is expected to do, what to ask it first."""

"""Conversations: the orchestration loop, its options, what it logs, and how answers are graded."""

"""How good a policy is on logged outcomes, beside every baseline."""

"""Outcomes become profiles: evidence counted into posteriors in every skill, and costs; also of agents little known."""

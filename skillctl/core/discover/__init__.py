"""Skills found in outcomes, with names and descriptions, kept only on evidence."""

"""Skills split, merged and added by evidence, each edit through the gate of validation."""

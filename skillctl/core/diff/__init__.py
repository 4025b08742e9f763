"""What changed between handbooks, in meaning and in effect, and how to merge them."""

"""The texts that language models are given."""

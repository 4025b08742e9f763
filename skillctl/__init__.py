"""Learn which agent is good at what, keep it as reviewable YAML, and route by it."""

__version__ = "0.1.0"

"""Results rendered as text, Markdown or JSON; nothing here prints."""

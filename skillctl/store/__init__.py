"""Files and git: everything that is read from or written to disk."""

"""The vocabulary of the project: frozen values without behaviour that reads or writes anything."""

"""Thin commands: parse, load, compute, render."""

"""Owns a run: its workdir's identity, its record, its lifecycle."""

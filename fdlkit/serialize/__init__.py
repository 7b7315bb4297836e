"""Configs as JSON: written whole or not at all, read without importing anything."""

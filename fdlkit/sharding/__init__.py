"""Meshes, logical axis rules, and where every array of a run lives."""

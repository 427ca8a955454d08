"""Measure a live server: a calibrated instrument, a predeclared plan, an append-only journal, a finding."""

"""dossier: every figure is entered or measured once, as data; every page is derived from it."""

__version__ = "0.1.0"

"""evidence/ as one catalog: what is there, how it hangs together, and what its decisions make of every lane."""

from dossier.catalog.catalog import Catalog, Entry, Key
from dossier.catalog.loading import Visit, load_catalog

__all__ = ["Catalog", "Entry", "Key", "Visit", "load_catalog"]

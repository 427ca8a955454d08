"""Which digests a finding has to carry: those of its recipes and of what they consist of."""

from __future__ import annotations

from dossier.catalog.catalog import Catalog, Key
from dossier.catalog.summary import recipes_of
from dossier.model.finding import Finding


def wanted_pins(finding: Finding, catalog: Catalog) -> dict[str, str]:
    """`folder/id` -> current digest, for every recipe a finding uses, its identity and hardware, in order."""
    keys: list[Key] = []
    for recipe_id in recipes_of(finding):
        recipe = catalog.recipe(recipe_id)
        if recipe is None:
            continue
        keys.append(("recipes", recipe_id))
        keys += [("identities", recipe.identity)] if isinstance(recipe.identity, str) else []
        keys += [("hardware", recipe.hardware)] if isinstance(recipe.hardware, str) else []
    keys += [("hardware", relation.hardware) for relation in finding.hardware]
    return {f"{f}/{i}": catalog.digest((f, i)) for f, i in sorted(set(keys)) if (f, i) in catalog.entries}

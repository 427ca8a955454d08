"""The pages of recipes, identities and hardware, and their lists."""

from __future__ import annotations

import html

import pytest
from maximal import Maker
from small_site import HARDWARE, IDENTITY, finding, recipe, row, site_of, words

from dossier.errors import RenderError
from dossier.model.hardware import Hardware
from dossier.model.identity import Identity
from dossier.model.recipe import Recipe
from dossier.pages.hardware import hardware_index, hardware_page
from dossier.pages.identity import identity_index, identity_page
from dossier.pages.recipe import recipe_index, recipe_page

BEFORE = finding(
    "2026-01-01-before", measurements=[{"id": "m-before", "metric": "decode_rate", "value": "100.0 tok/s"}]
)


def promotion(recipe_id, **more):
    return {"id": "d", "outcome": "promote", "lanes": ["text"], "recipe": recipe_id, "human_approval": True, **more}


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize(
    ("kind", "page", "id_"),
    [
        (Recipe, recipe_page, "recipe-a"),
        (Identity, identity_page, "identity-a"),
        (Hardware, hardware_page, "hardware-a"),
    ],
)
def test_every_field_of_every_part_or_why_it_is_not_known_is_on_the_page(tmp_path, kind, page, id_, unknown):
    make = Maker(unknown=unknown)
    site = site_of(tmp_path, recipe("recipe-a"), recipe("recipe-b"), BEFORE, make.part(kind, id=id_))
    made = html.unescape(page(site, id_).body)
    assert [token for token in make.made if token not in words(made)] == []
    assert site.catalog.digest((kind.FOLDER, id_)).removeprefix("sha256:") in made


@pytest.mark.parametrize("page", [recipe_page, identity_page, hardware_page])
def test_a_missing_record_is_a_render_error(tmp_path, page):
    with pytest.raises(RenderError):
        page(site_of(tmp_path, recipe("recipe-a")), "nowhere")


def test_a_recipe_shows_its_roles_and_how_it_came_to_them(tmp_path):
    site = site_of(
        tmp_path, recipe("recipe-a"), recipe("recipe-b", derived_from="recipe-a"),
        finding("2026-01-01-first", decisions=[promotion("recipe-a", lanes=["text", "vision"])]),
        finding("2026-02-02-second", decisions=[promotion("recipe-b", rollback="recipe-a")]),
    )  # fmt: skip
    made = recipe_page(site, "recipe-a").body
    text = words(made)
    assert "Text lane rollback since 2026-02-02 by Title of 2026-02-02-second" in text
    assert "Vision lane current since 2026-01-01 by Title of 2026-01-01-first" in text
    history = text[text.index("History") :]
    assert "2026-01-01 promote Text lane, Vision lane Title of 2026-01-01-first" in history
    assert "2026-02-02 designate rollback Text lane named as the rollback of Title of recipe-b" in history
    assert "Changed into Title of recipe-b" in text
    assert 'href="../../findings/2026-02-02-second/#i-d"' in made


def test_a_recipe_that_no_decision_names_says_so(tmp_path):
    text = words(recipe_page(site_of(tmp_path, recipe("recipe-a")), "recipe-a").body)
    assert "No decision names this recipe" in text
    assert "No finding is about this recipe." in text


def test_a_recipe_without_a_known_identity_gives_the_reason(tmp_path):
    site = site_of(tmp_path, recipe("recipe-a", identity={"unknown": "The page names none."}))
    assert "Identity unknown: The page names none." in words(recipe_page(site, "recipe-a").body)


def test_a_recipe_shows_the_pins_of_its_identity_whole(tmp_path):
    identity = {
        **IDENTITY,
        "template_sha256": "d" * 64,
        "artifacts": [
            {"role": "target", "revision": "a" * 40, "files": [{"path": "w.gguf", "sha256": "e" * 64}]},
            {"role": "draft", "revision": {"unknown": "Not printed."}},
        ],
        "runtime": {"engine": "An engine", "commit": "f" * 40, "image": {"digest": "sha256:" + "9" * 64}},
    }
    text = words(recipe_page(site_of(tmp_path, recipe("recipe-a"), identity), "recipe-a").body)
    for pin in ("a" * 40, "d" * 64, "e" * 64, "f" * 40, "9" * 64, "unknown: Not printed."):
        assert pin in text


def test_an_identity_lists_its_files_with_sizes_and_whole_digests(tmp_path):
    files = [{"path": f"part-{n}.gguf", "bytes": 5_368_709_120 + n, "sha256": f"{n}" * 64} for n in range(1, 6)]
    identity = {**IDENTITY, "artifacts": [{"role": "target", "files": files}]}
    made = identity_page(site_of(tmp_path, recipe("recipe-a"), identity), "identity-a").body
    text = words(made)
    for n in range(1, 6):
        assert f"part-{n}.gguf" in text
        assert f"5.0\N{NO-BREAK SPACE}GiB (5,368,709,12{n}\N{NO-BREAK SPACE}bytes)" in text
        assert str(n) * 64 in text
    assert "5 files" in text
    assert "Title of recipe-a" in text


def test_hardware_lists_what_runs_and_what_was_measured_on_it(tmp_path):
    arms = {"candidate": {"recipe": "recipe-a"}}
    site = site_of(tmp_path, recipe("recipe-a"), finding("2026-01-01-first", arms=arms))
    text = words(hardware_page(site, "hardware-a").body)
    assert "Title of recipe-a" in text
    assert "2026-01-01 Title of 2026-01-01-first qualification transcribed" in text


def test_the_list_of_recipes_shows_roles_and_unknown_values(tmp_path):
    site = site_of(
        tmp_path, recipe("recipe-a", context_tokens={"unknown": "Named 131K only."}),
        recipe("recipe-b", context_tokens=524288),
        finding("2026-01-01-first", decisions=[promotion("recipe-b")]),
    )  # fmt: skip
    made = recipe_index(site).body
    assert "unknown: Named 131K only." in row(made, "i-recipe-a")
    assert "current Text lane 524,288" in row(made, "i-recipe-b")
    assert 'href="../recipes/recipe-b/"' in made


def test_the_lists_of_identities_and_hardware_link_every_record(tmp_path):
    hardware = {**HARDWARE, "gpus": [{"name": "A card", "count": 2, "memory": "96 GB"}]}
    site = site_of(tmp_path, recipe("recipe-a"), hardware)
    assert f"target git {'a' * 12}" in row(identity_index(site).body, "i-identity-a")
    assert "2 × A card, 96 GB" in row(hardware_index(site).body, "i-hardware-a").replace("\N{NO-BREAK SPACE}", " ")


def test_a_list_without_records_says_so(tmp_path):
    made = recipe_index(site_of(tmp_path, finding("2026-01-01-first"))).body
    assert "No such record is kept here." in words(made)

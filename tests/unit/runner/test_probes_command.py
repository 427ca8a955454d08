"""`dossier probes` names every probe, every parameter, and what is not shown."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from dossier.cli.probes import probes
from dossier.errors import UsageError
from dossier.runner.probes import PROBES
from dossier.runner.probes.base import Spec


def said(*arguments):
    result = CliRunner().invoke(probes, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_every_probe_is_listed_once():
    assert [line.split()[0] for line in said().splitlines()] == list(PROBES)


@pytest.mark.parametrize("name", list(PROBES))
def test_a_probe_says_its_parameters_and_what_it_does_not_show(name):
    text = said(name)
    assert "Not shown: " in text
    lines = text.partition("every population:")[2].splitlines()
    named = {line.split()[0].rstrip(":") for line in lines if line.startswith("  ")}
    assert {*PROBES[name].spec.model_fields} - {*Spec.model_fields, "probe"} <= named


def test_choices_and_defaults_stand_beside_a_parameter():
    assert "  kind: one|many|distractor|link [one]" in said("needle")
    assert "choice-basics: Twenty closed choices, 20 items, sha256 " in said("suite")


def test_a_name_that_there_is_not_is_told():
    with pytest.raises(UsageError, match="there is no probe 'nedle'"):
        CliRunner().invoke(probes, ["nedle"], catch_exceptions=False)

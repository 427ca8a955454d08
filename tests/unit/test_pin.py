"""`dossier pin` writes digests and nothing else."""

from __future__ import annotations

from click.testing import CliRunner

from dossier.cli.pin import pin

FINDING = "evidence/findings/2026-01-10-first.yaml"


def test_pins_that_stand_are_left_alone(project):
    before = (project / FINDING).read_bytes()
    assert CliRunner().invoke(pin, [FINDING]).exit_code == 0
    assert (project / FINDING).read_bytes() == before


def test_missing_pins_are_added_and_comments_stay(project):
    file = project / FINDING
    text = file.read_text("utf-8")
    head = text.partition("\npins:")[0].rstrip("\n")
    file.write_text("# kept\n" + head + "\n", "utf-8")
    done = CliRunner().invoke(pin, [FINDING])
    assert done.exit_code == 0, done.output
    assert file.read_text("utf-8").startswith("# kept\n" + head + "\n")
    assert "\npins:\n  hardware/" in file.read_text("utf-8")


def test_a_file_in_flow_style_is_refused_whole_and_told_what_to_write(project):
    file = project / "evidence/findings/2026-03-01-flow.yaml"
    file.write_text(
        "{schema: dossier/finding/v1, id: 2026-03-01-flow, title: Flow, date: 2026-03-01, kind: intake,\n"
        " provenance: transcribed, models: [demo], summary: Flow., recipes: [demo-a]}\n",
        "utf-8",
    )
    before = file.read_bytes()
    done = CliRunner().invoke(pin, [str(file.relative_to(project))])
    assert done.exit_code != 0
    assert "write there yourself:\npins:\n" in str(done.exception)
    assert file.read_bytes() == before

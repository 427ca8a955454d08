"""A new project, and new records: valid at once, so that an author begins from a green check."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from dossier.cli.check import check
from dossier.cli.init import init
from dossier.cli.new import new
from dossier.errors import UsageError
from dossier.model.json_schema import KINDS
from dossier.model.parse import parse_record
from dossier.scaffold import record_text, scalar, slug
from dossier.source import read_document

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "DOSSIER_CACHE": "off"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOSSIER_CACHE", "off")
    assert CliRunner().invoke(init, ["--name", "Ours: evidence"]).exit_code == 0
    return tmp_path


def write(*arguments):
    done = CliRunner().invoke(new, [str(a) for a in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return Path(done.stdout.strip())


def problems():
    done = CliRunner().invoke(check, ["--format", "json"], catch_exceptions=False)
    return [(p["path"], p["rule"]) for p in json.loads(done.stdout)["problems"]]


def model_and_recipe():
    write("model", "--title", "Demo 3")
    write("hardware", "--title", "Bench", "--gpu", "A card")
    write("identity", "--title", "Demo FP8")
    write("recipe", "--title", "Demo at 131K")


def git(folder, *arguments):
    about = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *about, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.usefixtures("project")
def test_a_new_project_has_nothing_wrong():
    assert problems() == []


def test_a_new_project_overwrites_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mkdocs.yml").write_text("site_name: Mine\n", "utf-8")
    with pytest.raises(UsageError, match=r"mkdocs\.yml: already here"):
        CliRunner().invoke(init, [], catch_exceptions=False)
    assert [file.name for file in tmp_path.iterdir()] == ["mkdocs.yml"]


def test_the_settings_of_a_new_site_are_those_of_this_one(project):
    ours, theirs = (yaml.safe_load((folder / "mkdocs.yml").read_text("utf-8")) for folder in (ROOT, project))
    assert theirs.pop("site_name") == "Ours: evidence"
    ours.pop("site_name")
    assert theirs == ours


def test_editors_find_a_schema_for_every_folder_of_records(project):
    schemas = json.loads((project / ".vscode/settings.json").read_text("utf-8"))["yaml.schemas"]
    assert sorted(schemas) == [f"./schemas/{kind}.json" for kind in sorted(KINDS)]
    for schema, pattern in schemas.items():
        wanted = json.loads((project / schema).read_text("utf-8"))["properties"]["schema"]["const"]
        assert pattern == f"evidence/{KINDS[wanted.split('/')[1]].FOLDER}/*.yaml"


@pytest.mark.usefixtures("project")
def test_an_author_gets_to_a_green_check_by_following_messages_alone():
    """Each command names the next one that is missing."""
    with pytest.raises(UsageError, match="run `dossier new model` first"):
        write("finding", "--title", "First run")
    write("model", "--title", "Demo 3")
    with pytest.raises(UsageError, match="run `dossier new identity` first"):
        write("recipe", "--title", "R")
    write("identity", "--title", "Demo FP8")
    with pytest.raises(UsageError, match="run `dossier new hardware` first"):
        write("recipe", "--title", "R")
    write("hardware", "--title", "Bench", "--gpu", "A card")
    write("recipe", "--title", "Demo at 131K")
    write("finding", "--title", "First run", "--recipe", "demo-at-131k")
    assert problems() == []


@pytest.mark.usefixtures("project")
def test_an_author_who_takes_in_every_section_is_led_to_a_green_check_too():
    """Every message names the next step, by its command or by what to write; doing just that is enough."""
    write("model", "--title", "Demo 3")
    file = write("finding", "--title", "First run", "--date", "2026-02-03")
    text = file.read_text("utf-8")
    file.write_text(re.sub(r"(?m)^# ([a-z_]+:|  )", r"\1", text).replace("completion: open", "completion: concluded"))
    recipe = "`dossier new recipe`"
    assert messages() == [
        ("links/record", recipe), ("links/record", "`dossier new finding`"), ("links/record", recipe),
    ]  # fmt: skip
    write("identity", "--title", "Demo FP8")
    write("hardware", "--title", "Bench", "--gpu", "A card")
    write("recipe", "--title", "The recipe")
    earlier = write("finding", "--title", "The earlier finding", "--date", "2026-01-01")
    assert messages() == [("identity/pin", "`dossier pin evidence/findings/"), ("links/item", "no item 'decode' there")]
    text = earlier.read_text("utf-8")
    wanted = ("populations:", "measurements:", "arms:")
    parts = re.split(r"(?m)^#$", text)
    taken = [re.sub(r"(?m)^# ", "", part) if any(f"# {w}" in part for w in wanted) else part for part in parts]
    earlier.write_text("".join(taken), "utf-8")
    assert CliRunner().invoke(check, ["--fix"], catch_exceptions=False).exit_code == 0
    assert problems() == []


def messages():
    """Rule of each problem, and as much of its message as the test goes by."""
    done = CliRunner().invoke(check, ["--format", "json"], catch_exceptions=False)
    known = (
        "`dossier new recipe`",
        "`dossier new finding`",
        "no item 'decode' there",
        "`dossier pin evidence/findings/",
    )
    found = json.loads(done.stdout)["problems"]
    return [(p["rule"], next((k for k in known if k in p["message"]), p["message"])) for p in found]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("provenance", ["transcribed", "reported", "external-prior", "retained"])
def test_a_new_finding_is_valid_at_once_with_every_kind_and_provenance(tmp_path, provenance):
    write("model", "--title", "Demo 3")
    (tmp_path / "raw.json").write_text("{}", "utf-8")
    kept = ["--artifact", "raw.json"] if provenance == "retained" else []
    for kind in ("qualification", "promotion", "comparison", "recheck", "restoration", "interpretation", "operational",
                 "incident", "intake", "evidence-gap"):  # fmt: skip
        write("finding", "--title", f"A {kind}", "--kind", kind, "--provenance", provenance, *kept)
    assert problems() == []


@pytest.mark.usefixtures("project")
def test_an_artifact_is_copied_and_listed_by_digest(tmp_path):
    write("model", "--title", "Demo 3")
    (tmp_path / "Raw results.json").write_text("{}", "utf-8")
    file = write("finding", "--title", "Kept", "--artifact", "Raw results.json", "--date", "2026-02-03")
    assert file.name == "2026-02-03-kept.yaml"
    assert (tmp_path / "evidence/artifacts/2026-02-03-kept/Raw results.json").read_text("utf-8") == "{}"
    # printf '{}' | sha256sum
    assert "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" in file.read_text("utf-8")
    assert problems() == []


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("kind", ["erratum", "addendum", "withdrawal"])
def test_a_correction_is_a_valid_record_of_its_own(kind):
    write("model", "--title", "Demo 3")
    write("finding", "--title", "First run", "--date", "2026-02-03")
    extra = ["--by", "the operator"] if kind == "withdrawal" else []
    file = write(kind, "--for", "2026-02-03-first-run", "--summary", "It was: wrong.", "--date", "2026-02-04", *extra)
    assert file.name == f"2026-02-04-{kind}-first-run.yaml"
    assert problems() == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_terminal_it_asks(project):
    import pty  # noqa: PLC0415  (not on every system)

    write("model", "--title", "Demo 3")
    ours, theirs = pty.openpty()
    command = [BIN / "dossier", "new", "finding"]
    running = subprocess.Popen(command, cwd=project, env=ENVIRONMENT, stdin=theirs, stdout=subprocess.PIPE, text=True)
    # Model, title, kind, provenance, summary: an empty line takes what stands in brackets.
    os.write(ours, b"\nAsked for\nintake\nreported\nSomebody said so.\n")
    said, _ = running.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert running.returncode == 0, said
    [file] = (project / "evidence/findings").glob("*.yaml")
    text = file.read_text("utf-8")
    assert file.stem.endswith("-asked-for")
    assert all(line in text for line in ("kind: intake", "provenance: reported", "summary: Somebody said so."))
    assert problems() == []


@pytest.mark.usefixtures("project")
def test_no_record_is_written_over_another():
    write("model", "--title", "Demo 3")
    with pytest.raises(UsageError, match="there already"):
        write("model", "--title", "Demo 3")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "arguments",
    [
        ("finding",),
        ("finding", "--title", "---"),
        ("finding", "--title", "X", "--date", "yesterday"),
        ("finding", "--title", "X", "--kind", "erratum"),
        ("finding", "--title", "X", "--provenance", "retained"),
        ("finding", "--title", "X", "--recipe", "none"),
        ("finding", "--title", "X", "--model", "none"),
        ("erratum", "--for", "none"),
        ("hardware", "--title", "X", "--gpu", "Y", "--count", "two"),
        ("hardware", "--title", "X", "--gpu", "Y", "--count", "9" * 26),
        ("model", "--title", "X", "--id", "../outside"),
        ("model", "--title", "X", "--id", "Upper"),
        ("model", "--title", "X", "--id", "con"),
        ("model", "--title", "X", "--id", "x" * 121),
        ("model", "--title", "X \x1b[31m", "--id", "x"),
    ],
)
def test_what_is_missing_or_wrong_is_said_and_nothing_is_written(tmp_path, arguments):
    write("model", "--title", "Demo 3")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError):
        CliRunner().invoke(new, list(arguments), catch_exceptions=False)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "title", ["a: b", "'quoted'", "# no comment", "- x", "*x*", "null", "1e5", "é ü", "x" * 200, "{a}", "$id"]
)
def test_any_title_is_kept_as_it_is(title):
    write("model", "--title", title, "--id", "m")
    document, wrong = read_document(Path("evidence/models/m.yaml").read_bytes(), "m.yaml")
    assert wrong == []
    assert document.data["name"] == title


ANSWERS = {
    "id": "2026-01-01-x", "title": "X", "date": "2026-01-01", "kind": "comparison", "kind_meaning": "k",
    "provenance": "transcribed", "provenance_meaning": "p", "model": "demo", "summary": "S.",
    "arms": "# arms:\n#   candidate: {recipe: r}", "sections": "", "lane": "text", "recipe": "r",
    "unknown": "Not known.",
    "identity": "i", "hardware": "h", "gpu": "G", "count": "1", "target": "2025-01-01-y", "by": "the operator",
}  # fmt: skip


@pytest.mark.parametrize("kind", ["finding", "model", "recipe", "hardware", "erratum", "addendum"])
def test_the_examples_in_the_comments_are_valid_when_they_are_taken_in(kind):
    text = _uncommented(record_text(kind, ANSWERS))
    document, wrong = read_document(text, f"{kind}.yaml")
    assert wrong == []
    assert parse_record(document, f"{kind}.yaml")[1] == []
    assert len(document.data) > len(read_document(record_text(kind, ANSWERS), "x")[0].data)


def _uncommented(text):
    """Each `# ` line taken in; `## ` lines are for the reader."""
    lines = [line for line in text.split("\n") if not line.startswith(("##", "# yaml-language-server"))]
    taken = [line[2:] if line.startswith("# ") else line.removeprefix("#") for line in lines]
    return "\n".join(taken)


def test_texts_become_ids_and_scalars():
    assert slug("Über v0.4.2: it's faster!") == "uber-v0.4.2-it-s-faster"
    assert slug("日本") == ""
    assert len(slug("word " * 40)) <= 60
    assert scalar("plain text, 5 %") == "plain text, 5 %"
    assert scalar("it's: so") == "'it''s: so'"
    assert scalar("two\nlines") == "two lines"


def workflow(folder):
    return yaml.safe_load((folder / ".github/workflows/evidence.yml").read_text("utf-8"))


def test_every_action_is_pinned_by_a_full_revision_and_rights_are_least(project):
    text = (project / ".github/workflows/evidence.yml").read_text("utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action in used)
    found = workflow(project)
    assert found["permissions"] == {}
    assert [job["permissions"] for job in found["jobs"].values()] == [{"contents": "read"}]


def test_no_expression_stands_in_a_shell_line(project):
    runs = [step["run"] for job in workflow(project)["jobs"].values() for step in job["steps"] if "run" in step]
    assert runs
    assert not any("${{" in run for run in runs)


@pytest.mark.skipif(shutil.which("zizmor", path=ENVIRONMENT["PATH"]) is None, reason="zizmor is not installed")
def test_zizmor_finds_nothing(project):
    command = ["zizmor", "--offline", "--pedantic", "--no-progress", ".github/workflows"]
    done = subprocess.run(command, cwd=project, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(shutil.which("actionlint", path=ENVIRONMENT["PATH"]) is None, reason="actionlint is not installed")
def test_actionlint_finds_nothing_here_and_something_in_a_broken_workflow(project):
    file = project / ".github/workflows/evidence.yml"
    command = ["actionlint", "-no-color", str(file)]
    done = subprocess.run(command, cwd=project, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    file.write_text(file.read_text("utf-8").replace("github.event.before", "github.evnt.before"), "utf-8")
    done = subprocess.run(command, cwd=project, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "evnt" in done.stdout


def test_the_commands_of_the_workflow_run(project):
    """All but the installation, on a branch with one new finding."""
    write("model", "--title", "Demo 3")
    write("finding", "--title", "First run")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "Begin")
    base = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project, check=True, capture_output=True, text=True)
    git(project, "checkout", "-q", "-b", "topic")
    write("finding", "--title", "Second run")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "Add a finding")
    summary = project / "summary.md"
    surroundings = {**ENVIRONMENT, "BASE": base.stdout.strip(), "GITHUB_STEP_SUMMARY": str(summary)}
    [job] = workflow(project)["jobs"].values()
    runs = [step["run"] for step in job["steps"] if "run" in step]
    ours = [run for run in runs if run.startswith("dossier")]
    assert len(ours) == len(runs) - 1 == 4
    for run in ours:
        done = subprocess.run(
            ["bash", "-e", "-c", run], cwd=project, env=surroundings, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (project / "site/index.html").is_file()
    assert "second-run/`: new" in summary.read_text("utf-8")


def test_a_first_push_has_no_base(project):
    git(project, "init", "-q", "-b", "main")
    done = CliRunner().invoke(check, ["--base", "0" * 40])
    assert done.exit_code == 0


def test_the_pre_commit_hook_runs_a_command_that_exists(project):
    [repo] = yaml.safe_load((project / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    [hook] = repo["hooks"]
    done = subprocess.run(["bash", "-c", hook["entry"]], cwd=project, env=ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode == 0

"""A finished site takes the place of the old one as a whole."""

from __future__ import annotations

import threading

import pytest

from dossier.errors import UsageError
from dossier.pages import swap as swap_module
from dossier.pages.swap import MARKER, swap


def tree(folder, **files):
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["exchange", "renames"])
def way(request, monkeypatch):
    if request.param == "renames":
        monkeypatch.setattr(swap_module, "_exchange", lambda _one, _other: False)


def test_the_first_site_is_put_in_place(tmp_path):
    swap(tree(tmp_path / "build/new", a="1"), tmp_path / "public/site")
    assert names(tmp_path / "public") == ["site"]
    assert names(tmp_path / "public/site") == [MARKER, "a"]


@pytest.mark.usefixtures("way")
def test_a_new_site_replaces_the_old_one_with_nothing_left_over(tmp_path):
    swap(tree(tmp_path / "one", a="1", gone="x"), tmp_path / "site")
    swap(tree(tmp_path / "two", a="2"), tmp_path / "site")
    assert names(tmp_path) == ["site"]
    assert names(tmp_path / "site") == [MARKER, "a"]
    assert (tmp_path / "site/a").read_text() == "2"


def test_a_folder_of_somebody_else_is_left_alone(tmp_path):
    tree(tmp_path / "home", thesis="years of work")
    with pytest.raises(UsageError, match="not a site that dossier made"):
        swap(tree(tmp_path / "new", a="1"), tmp_path / "home")
    assert (tmp_path / "home/thesis").read_text() == "years of work"
    assert (tmp_path / "new/a").is_file()


def test_an_empty_folder_may_be_taken(tmp_path):
    (tmp_path / "site").mkdir()
    swap(tree(tmp_path / "new", a="1"), tmp_path / "site")
    assert (tmp_path / "site/a").is_file()


def test_a_file_in_the_way_is_not_removed(tmp_path):
    (tmp_path / "site").write_text("a file")
    with pytest.raises(UsageError):
        swap(tree(tmp_path / "new", a="1"), tmp_path / "site")


def test_a_reader_never_finds_the_site_missing(tmp_path):
    swap(tree(tmp_path / "first", a="0"), tmp_path / "site")
    if not swap_module._exchange(tree(tmp_path / "x"), tree(tmp_path / "y")):
        pytest.skip("this file system cannot exchange two folders")
    missing, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            try:
                (tmp_path / "site/a").read_text()
            except OSError as error:
                missing.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(50):
        swap(tree(tmp_path / f"new{number}", a=str(number)), tmp_path / "site")
    stop.set()
    reader.join()
    assert missing == []

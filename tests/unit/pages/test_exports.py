"""What programs read: feeds by an independent parser, records by their own schemas and digests."""

from __future__ import annotations

import hashlib
import json
from datetime import date

import feedparser
import jsonschema_rs
import pytest
from small_site import finding, recipe, site_of

from dossier.pages.asof import day_page, days_of_change, snapshots_in_time
from dossier.pages.exports import api
from dossier.pages.exports.feeds import atom, channels, json_feed
from dossier.pages.news import news_page

HOSTILE = "</title><script>alert(1)</script>]]>& title"
URL = "https://example.org/evidence/"


def _promote(name, **more):
    return {"id": f"promote-{name}", "outcome": "promote", "lanes": ["text"], "recipe": name, "human_approval": True,
            "limitation": "One.", **more}  # fmt: skip


@pytest.fixture
def site(tmp_path):
    return site_of(
        tmp_path,
        recipe("first"),
        recipe("second"),
        finding("2026-01-01-one", decisions=[_promote("first")], title=HOSTILE, summary=f"Said {HOSTILE}"),
        finding("2026-02-01-two", decisions=[_promote("second", rollback="first")]),
        finding("2026-03-01-three", kind="erratum", links={"erratum_for": "2026-01-01-one"}),
    )


def _feed(site, path, url=URL):
    channel = next(each for each in channels(site) if each.path == path)
    return feedparser.parse(atom(site, channel, url)), json.loads(json_feed(site, channel, url))


def test_there_is_a_feed_of_the_whole_of_every_model_and_of_every_lane(site):
    paths = [channel.path for channel in channels(site)]
    assert paths == ["feeds/all", "feeds/models/model-a", "feeds/lanes/model-a/text", "feeds/lanes/model-a/vision"]


def test_a_feed_is_valid_and_its_two_forms_say_the_same(site):
    read, other = _feed(site, "feeds/all")
    assert not read.bozo
    assert read.version == "atom10"
    assert other["version"] == "https://jsonfeed.org/version/1.1"
    assert [entry.id for entry in read.entries] == [item["id"] for item in other["items"]]
    assert [entry.link for entry in read.entries] == [item["url"] for item in other["items"]]
    assert read.entries[-1].link == f"{URL}findings/2026-02-01-two/"
    assert read.feed.updated == "2026-03-01T00:00:00Z"


def test_text_stays_text_in_a_feed(site):
    read, other = _feed(site, "feeds/all")
    entry = next(e for e in read.entries if e.link.endswith("2026-01-01-one/"))
    assert entry.title_detail.type == "text/plain"
    assert entry.title == HOSTILE
    assert entry.summary_detail.type == "text/plain"
    assert "<script>" in entry.summary
    assert HOSTILE in [item["title"] for item in other["items"]]


def test_what_was_corrected_comes_up_again_under_the_same_id(site, tmp_path):
    read, _ = _feed(site, "feeds/all")
    corrected = next(e for e in read.entries if e.link.endswith("2026-01-01-one/"))
    assert (corrected.published, corrected.updated) == ("2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z")
    before = site_of(tmp_path / "before", recipe("first"), finding("2026-01-01-one", decisions=[_promote("first")]))
    assert corrected.id in [e.id for e in _feed(before, "feeds/all", "")[0].entries]


def test_the_feed_of_a_lane_holds_its_decisions(site):
    read, _ = _feed(site, "feeds/lanes/model-a/text")
    assert [entry.title for entry in read.entries] == ["promote: Title of second", "promote: Title of first"]
    assert read.entries[0].link == f"{URL}findings/2026-02-01-two/#i-promote-second"
    assert _feed(site, "feeds/lanes/model-a/vision")[0].entries == []


def test_a_site_that_does_not_know_its_address_links_relative_to_the_feed(site):
    _, other = _feed(site, "feeds/models/model-a", "")
    assert other["items"][-1]["url"] == "../../findings/2026-02-01-two/"
    assert other["home_page_url"] == "../../models/model-a/"


def test_the_sha256_of_a_records_file_is_the_digest_of_the_record(site):
    for folder, id_ in site.catalog.entries:
        data = api.record_bytes(site, folder, id_)
        assert f"sha256:{hashlib.sha256(data).hexdigest()}" == site.catalog.digest((folder, id_))


def test_a_record_is_valid_against_the_published_schema(site):
    made = api.descriptions()
    for folder, id_ in site.catalog.entries:
        data = json.loads(api.record_bytes(site, folder, id_))
        kind = data["schema"].split("/")[1]
        jsonschema_rs.validator_for(made[api.schema_path(kind)]("")).validate(data)


def test_the_index_leads_to_every_record(site):
    index = api.index(site, URL)
    assert index["findings"] == {
        "count": 3, "years": [{"year": "2026", "count": 3, "heads": f"{URL}api/v1/findings/year-2026.json"}],
    }  # fmt: skip
    heads = api.year(site, "2026", URL)["findings"]
    assert [head["id"] for head in heads] == ["2026-01-01-one", "2026-02-01-two", "2026-03-01-three"]
    assert heads[0]["became"] == [{"word": "corrected", "finding": "2026-03-01-three"}]
    assert heads[0]["record"] == f"{URL}api/v1/findings/2026-01-01-one.json"
    assert {place["id"] for place in index["records"]["recipes"]} == {"first", "second"}


def test_a_day_of_change_has_its_page_and_other_days_have_none(site):
    assert days_of_change(site) == [date(2026, 1, 1), date(2026, 2, 1)]
    first, second = snapshots_in_time(site)
    assert [(lane.lane, lane.current, lane.now) for lane in first.lanes] == [("text", "first", "second")]
    assert [(lane.current, lane.rollback) for lane in second.lanes] == [("second", "first")]
    body = day_page(site, first).body
    assert "<script>" not in body
    assert 'href="../../decisions/2026-02-01/"' in body


def test_what_is_new_says_what_changed_and_what_was_corrected(site):
    body = news_page(site, snapshots_in_time(site)).body
    assert body.index('data-day="2026-03-01"') < body.index('data-day="2026-02-01"')
    assert "corrects" in body
    assert "<script>" not in body

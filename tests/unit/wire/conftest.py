"""Throwaway certificates."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

import pytest
import trustme


@dataclass
class Certificates:
    server: ssl.SSLContext
    ca_file: str


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost", "127.0.0.1").configure_cert(context)
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return Certificates(context, str(path))

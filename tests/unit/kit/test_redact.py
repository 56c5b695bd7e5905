from __future__ import annotations

import pytest

from penstock.kit.redact import HIDDEN, redact


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("nats://me:pw@host:4222", f"nats://me:{HIDDEN}@host:4222", id="password"),
        pytest.param("nats://s3cr3t@host:4222", f"nats://{HIDDEN}@host:4222", id="nats token"),
        pytest.param("postgresql://me@host/db", "postgresql://me@host/db", id="a user is no secret"),
        pytest.param("postgresql://me:p@ss@host/db", f"postgresql://me:{HIDDEN}@host/db", id="at in password"),
        pytest.param("nats://a:b@h1:1,nats://c:d@h2:2", f"nats://a:{HIDDEN}@h1:1,nats://c:{HIDDEN}@h2:2", id="list"),
        pytest.param("host=h password=pw user=me", f"host=h password={HIDDEN} user=me", id="key value"),
        pytest.param("postgresql://h/db?sslpassword=x&a=b", f"postgresql://h/db?sslpassword={HIDDEN}&a=b", id="query"),
        pytest.param(r'{"password":"a\"b","x":"y"}', f'{{"password":"{HIDDEN}","x":"y"}}', id="json"),
        pytest.param("mail me@host, see http://host/a@b", "mail me@host, see http://host/a@b", id="nothing secret"),
    ],
)
def test_credentials_are_hidden_and_the_rest_stays_readable(text: str, shown: str) -> None:
    assert redact(text) == shown

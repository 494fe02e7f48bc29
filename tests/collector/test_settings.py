"""Settings: flags over environment over a file, none unknown, none that would not work."""

from pathlib import Path
from typing import Any

import pytest

from discreet.collector.settings import Settings, load_settings
from discreet.collector.verbs.parameters import spelled_key
from discreet.errors import ParameterError
from packing import each


def test_flags_go_over_environment_and_these_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "collector.toml"
    path.write_text('listen = "127.0.0.1:1"\ndata = "file"\nlog = "error"\n[limits]\nrate = 1\nburst = 2\n')
    keys = spelled_key(bytes(32)), spelled_key(bytes(range(32)))
    environment = {
        "DISCREET_COLLECTOR_DATA": "environment",
        "DISCREET_COLLECTOR_LISTEN": "127.0.0.1:2",
        "DISCREET_COLLECTOR_LIMITS__BURST": "7",
        "DISCREET_COLLECTOR_TRUST": ", ".join(keys),
        "DISCREET_COLLECTOR_BEHIND_PROXY": "true",
        "DISCREET_COLLECTOR_EMBED_ORIGINS": "https://a.example, https://b.example",
        "HOME": "/",
    }
    found = load_settings(path, flags={"listen": "127.0.0.1:3", "data": None}, environment=environment)
    assert (found.listen, found.data, found.log) == ("127.0.0.1:3", "environment", "error")
    assert (found.limits.rate, found.limits.burst, found.trust, found.behind_proxy) == (1, 7, keys, True)
    assert found.embed_origins == ("https://a.example", "https://b.example")
    assert load_settings(environment={}) == Settings()


@each(
    "text, said",
    [
        ('listn = "x"', "listn"),
        ('embed_origins = ["https://a.example/"]', "embed_origins must be origins"),
        ("[limits]\nrates = 1", "rates"),
        ("[limits]\nrate = -1", "rate must be"),
        ("[limits]\nburst = inf", "burst must be"),
        ("[limits]\nconnections = 0", "connections must be"),
        ("listen = 5", "listen"),
        ('listen = "8080"', "HOST:PORT"),
        ('listen = "127.0.0.1:99999"', "HOST:PORT"),
        ('listen = "example.org:80"', "behind_proxy"),
        ('listen = "[::]:80"', "behind_proxy"),
        ("gather_ms = -1", "gather_ms"),
        ("least_free_disk = -1", "least_free_disk"),
        ('sealing = "never"', "sealing"),
        ("listen = ", "TOML"),
        ("data = ''", "data"),
        ("trust = ['abc']", "44 letters"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "collector.toml"
    path.write_text(text)
    with pytest.raises(ParameterError, match=said):
        load_settings(path, environment={})


@pytest.mark.parametrize("given", [{"behind_proxy": True}, {"insecure": True}])
def test_other_machines_may_send_by_a_proxy_or_on_somebodys_word(given: dict[str, Any]) -> None:
    assert load_settings(flags={"listen": "0.0.0.0:443", **given}, environment={}).address == ("0.0.0.0", 443)

"""Settings: flags over environment over a file, none unknown, none that would not work."""

from pathlib import Path
from typing import Any

import pytest

from discreet.collector.access import Rates
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


def test_rates_are_of_each_address_and_refill() -> None:
    now = [0.0]
    rates = Rates(2.0, 3.0, clock=lambda: now[0])
    assert [rates.allows("a") for _ in range(5)] == [True, True, True, False, False]
    assert rates.allows("b")
    now[0] = 0.5
    assert [rates.allows("a") for _ in range(2)] == [True, False]
    assert all(Rates(0, 1).allows("a") for _ in range(100))


def test_addresses_are_kept_under_a_key_of_the_hour() -> None:
    now = [0.0]
    rates = Rates(1.0, 1.0, clock=lambda: now[0])
    first = rates.mark("10.1.2.3")
    assert rates.mark("10.1.2.3") == first
    rates.allows("10.1.2.3")
    assert "10.1.2.3" not in repr(vars(rates))
    now[0] = 3601.0
    assert rates.mark("10.1.2.3") != first
    assert repr(first) not in repr(vars(rates))
    assert Rates(1.0, 1.0).mark("10.1.2.3") != first

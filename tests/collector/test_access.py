"""Rates and tries by address, and the end of a collector."""

import signal
import threading
import time
from pathlib import Path

import pytest
from collectors import serving, wait_until

from discreet.collector.access import Rates, Tokens, TooManyTriesError
from discreet.collector.working import JobError, Workers


@pytest.mark.parametrize(
    ("address", "other", "alike"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", True),
        ("2001:db8:1:2::1", "2001:0db8:0001:0002:0000:0000:0000:0001", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:c000:201", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("no: address", "no: other", False),
        ("", "192.0.2.1", False),
    ],
)
def test_who_has_many_addresses_has_one_bucket(address: str, other: str, alike: bool) -> None:
    """Those of a network of IPv6 count as one, and IPv4 as itself however it is written."""
    rates = Rates(0.001, 2, clock=lambda: 5.0)
    assert [rates.allows(address) for _ in range(3)] == [True, True, False]
    assert rates.allows(other) is not alike
    assert (rates.mark(address) == rates.mark(other)) is alike


def test_tokens_that_are_none_are_counted_by_network() -> None:
    tokens = Tokens(clock=lambda: 5.0)
    assert [tokens.holder(f"dsc_{last}", f"2001:db8::{last}") for last in range(5)] == [None] * 5
    with pytest.raises(TooManyTriesError):
        tokens.holder("dsc_x", "2001:db8::ffff")
    assert tokens.holder("dsc_x", "2001:db8:0:1::1") is None


def test_a_signal_ends_pictures_and_estimates_before_requests_are_waited_for(tmp_path: Path) -> None:
    def drawn(workers: Workers) -> None:
        with pytest.raises(JobError, match=r"job.failed"):
            workers.run(time.sleep, 600)

    with serving(tmp_path) as served:
        thread = threading.Thread(target=drawn, args=(served.app.workers,))
        thread.start()
        wait_until(lambda: served.app.workers.running)
        served.server.handle_exit(signal.SIGTERM, None)
        thread.join(60)
        assert not thread.is_alive()
        with pytest.raises(JobError, match="shutting down"):
            served.app.workers.run(time.sleep, 0)


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

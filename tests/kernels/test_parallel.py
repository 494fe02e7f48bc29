"""Fixed blocks on threads."""

import threading

import pytest

from discreet.kernels.parallel import map_blocks


def test_results_keep_block_order_when_the_first_block_is_the_slowest() -> None:
    second_is_done = threading.Event()

    def wait_for_the_second(start: int, stop: int) -> int:
        if start == 0:
            assert second_is_done.wait(timeout=30)
        else:
            second_is_done.set()
        return start

    assert map_blocks(wait_for_the_second, 20, block=10, threads=2) == [0, 10]


def test_the_environment_sets_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    barrier = threading.Barrier(3)

    def meet(start: int, stop: int) -> int:
        return barrier.wait(timeout=30)

    monkeypatch.setenv("DISCREET_THREADS", "3")
    assert sorted(map_blocks(meet, 3, block=1)) == [0, 1, 2]
    monkeypatch.setenv("DISCREET_THREADS", "1")
    caller = threading.get_ident()
    assert map_blocks(lambda start, stop: threading.get_ident(), 2, block=1) == [caller] * 2

"""What may be in flight, and that all of it is given back."""

from commonhold.ops.admission import FREE_BYTES, Admission, Lease


def admission() -> Admission:
    return Admission(request_limit=2, byte_limit=4 * FREE_BYTES)


def test_small_bodies_are_free_and_large_ones_are_held_whole() -> None:
    ceilings = admission()
    lease = Lease(ceilings)
    assert lease.cover(FREE_BYTES)
    assert ceilings.bytes_taken == 0
    assert lease.cover(FREE_BYTES + 1)
    assert ceilings.bytes_taken == FREE_BYTES + 1


def test_a_body_that_grows_takes_the_difference_and_never_gives_back_before_its_end() -> None:
    ceilings = admission()
    lease = Lease(ceilings)
    for size in (2 * FREE_BYTES, 3 * FREE_BYTES, 2 * FREE_BYTES):
        assert lease.cover(size)
    assert ceilings.bytes_taken == 3 * FREE_BYTES
    for _ in range(2):
        lease.release()
        assert ceilings.bytes_taken == 0


def test_what_does_not_fit_takes_nothing_and_the_last_byte_fits() -> None:
    ceilings = admission()
    first, second = Lease(ceilings), Lease(ceilings)
    assert first.cover(2 * FREE_BYTES)
    assert not second.cover(2 * FREE_BYTES + 1)
    assert ceilings.bytes_taken == 2 * FREE_BYTES
    assert second.cover(2 * FREE_BYTES)


def test_places_are_given_back_once() -> None:
    ceilings = admission()
    leases = [Lease(ceilings) for _ in range(3)]
    assert [lease.enter() for lease in leases] == [True, True, False]
    assert ceilings.is_full
    # Whoever found no place gives none back, and nobody gives one back twice.
    for lease in (leases[2], leases[0], leases[0]):
        lease.release()
    assert ceilings.requests == 1
    assert not ceilings.is_full

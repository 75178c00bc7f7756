"""What `make check-chart` lets pass of Checkov's findings: exactly those with a reason."""

import re

import pytest

from tests.support.manifest_faults import CONFIGURATION, faults_of, found_in

EXPECTED = """skip-check:
  # Digests: the chart cannot know those of your registry.
  - CKV_K8S_43
"""
FOUND = {"CKV_K8S_43 Image should use digest": ["a.yaml: Deployment.a"]}


def test_what_has_its_reason_is_passed_over() -> None:
    assert faults_of(FOUND, EXPECTED) == []


def test_what_has_none_is_told_with_its_places() -> None:
    found = {**FOUND, "CKV_K8S_20 Escalation": ["a.yaml: Pod.a", "b.yaml: Pod.b"]}
    assert faults_of(found, EXPECTED) == [
        "CKV_K8S_20 Escalation: a.yaml: Pod.a, b.yaml: Pod.b",
    ]


def test_a_reason_for_what_is_found_no_more_is_told() -> None:
    assert faults_of({}, EXPECTED) == ["CKV_K8S_43 is left out and finds nothing"]


def test_a_check_that_is_left_out_without_a_reason_is_told() -> None:
    bare = re.sub(r"  # .*\n", "", EXPECTED)
    assert faults_of(FOUND, bare) == ["CKV_K8S_43 is left out without a reason"]


def test_every_check_that_we_leave_out_has_its_reason() -> None:
    # As if each were found: what is left to tell is what has no reason.
    left_out = re.findall(r"^  - (\w+)$", CONFIGURATION.read_text(), re.MULTILINE)
    found = {f"{check} x": ["a"] for check in left_out}
    assert left_out
    assert faults_of(found, CONFIGURATION.read_text()) == []


def test_a_report_of_nothing_is_no_pass() -> None:
    report = {"summary": {"passed": 0}, "results": {"failed_checks": []}}
    with pytest.raises(ValueError, match="read no manifest"):
        found_in(report)


def test_findings_are_gathered_by_check() -> None:
    failed = {"check_id": "CKV_1", "check_name": "x", "file_path": "/a.yaml", "resource": "Pod.a"}
    report = {"summary": {"passed": 1}, "results": {"failed_checks": [failed]}}
    assert found_in(report) == {"CKV_1 x": ["a.yaml: Pod.a"]}

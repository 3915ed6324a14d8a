#!/usr/bin/env python3
"""Prints one line for each test case of a `bazel test`: "PASS|FAIL|SKIP name: why".

    bazel test --build_event_json_file=EVENTS //... ; tests/test_cases.py EVENTS

A target that did not build, or whose test left no report, is a FAIL too. The events are described at
https://bazel.build/remote/bep; the reports are GoogleTest's XML.
"""
import json
import sys
import urllib.parse
import xml.etree.ElementTree


def first_line(text):
    # GoogleTest puts "file:line" on the first line and what happened on the next.
    return " ".join((text or "").split("\n")[:3]).strip()


def cases_of(label, report):
    """Yields the lines for one test.xml."""
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{label} {case.get('classname')}.{case.get('name')}"
        failure = case.find("failure")
        error = case.find("error")
        skipped = case.find("skipped")
        if failure is not None:
            yield f"FAIL {name}: {first_line(failure.get('message'))}"
        elif error is not None:
            yield f"FAIL {name}: {first_line(error.get('message'))}"
        elif skipped is not None:
            yield f"SKIP {name}: {first_line(skipped.get('message'))}"
        elif case.get("status") == "notrun":
            yield f"SKIP {name}: disabled"
        else:
            yield f"PASS {name}"


def report_of(result):
    for output in result.get("testActionOutput", []):
        if output["name"] == "test.xml":
            return urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
    return None


def lines_of(events):
    for event in events:
        if "targetCompleted" in event["id"] and not event.get("completed", {}).get("success"):
            yield f"FAIL {event['id']['targetCompleted']['label']}: did not build"
        if "testResult" not in event["id"]:
            continue
        label = event["id"]["testResult"]["label"]
        result = event["testResult"]
        lines = []
        try:
            lines = list(cases_of(label, report_of(result)))
        except (OSError, TypeError, xml.etree.ElementTree.ParseError):
            pass
        yield from lines
        if result["status"] != "PASSED" and not any(line.startswith("FAIL") for line in lines):
            yield f"FAIL {label}: {result['status']}"
        elif not lines:
            yield f"FAIL {label}: left no report"


def main():
    with open(sys.argv[1]) as stream:
        events = [json.loads(line) for line in stream]
    for line in lines_of(events):
        print(line)


if __name__ == "__main__":
    main()

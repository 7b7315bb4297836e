"""Logged numbers are kept in order, once, and away from the loop."""

from __future__ import annotations

import json
import math
import struct
import threading

import pytest
from etils import epath
from hypothesis import given
from hypothesis import strategies as st
from tensorboardX.proto import event_pb2

from fdlkit.errors import RunFailedError
from fdlkit.train.writers import JsonLines, TensorBoard, WriterThread


def test_lines_are_strict_json_with_step_and_plain_names(tmp_path):
    workdir = epath.Path(tmp_path)
    with WriterThread([JsonLines()], workdir, 0) as writer:
        writer.write(1, {"loss": 0.5, "grad_norm": math.nan})
    text = (tmp_path / "metrics.jsonl").read_text()
    refuse = lambda name: pytest.fail(f"{name} is no JSON")  # noqa: E731
    assert json.loads(text, parse_constant=refuse) == {
        "step": 1,
        "loss": 0.5,
        "grad_norm": "nan",
    }


@given(
    steps=st.lists(st.integers(1, 50), unique=True).map(sorted),
    cut=st.integers(0, 50),
    torn=st.sampled_from(["", "{", '{"step": 3, "lo', "null\n", "[1]\n", "\n"]),
)
def test_cutting_back_keeps_exactly_the_whole_lines_up_to_the_step(
    tmp_path_factory, steps, cut, torn
):
    workdir = epath.Path(tmp_path_factory.mktemp("cut"))
    lines = "".join(json.dumps({"step": step, "loss": 1.0}) + "\n" for step in steps)
    (workdir / "metrics.jsonl").write_text(lines + torn)
    sink = JsonLines().open(workdir, cut)
    sink.write(cut + 1, {"loss": 2.0})
    sink.close()
    kept = [
        json.loads(x)["step"]
        for x in (workdir / "metrics.jsonl").read_text().splitlines()
    ]
    assert kept == [step for step in steps if step <= cut] + [cut + 1]


def test_whether_a_step_was_evaluated_is_read_from_the_lines(tmp_path):
    workdir = epath.Path(tmp_path)
    assert not JsonLines().has(workdir, 5, "eval/")
    (tmp_path / "metrics.jsonl").write_text(
        '{"step": 5, "loss": 1}\n{"step": 10, "eval/loss": 1}\n{"step": 15, "eval/lo'
    )
    assert not JsonLines().has(workdir, 5, "eval/")
    assert JsonLines().has(workdir, 10, "eval/")
    assert not JsonLines().has(workdir, 15, "eval/")


def events_in(folder) -> list[event_pb2.Event]:
    found = []
    for path in sorted(folder.iterdir(), key=lambda p: p.stat().st_mtime_ns):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            event = event_pb2.Event()
            event.ParseFromString(data[12 : 12 + length])
            found.append(event)
            data = data[16 + length :]
    return found


def test_tensorboard_events_hide_the_steps_that_are_run_again(tmp_path):
    workdir = epath.Path(tmp_path)
    with WriterThread([TensorBoard()], workdir, 0) as writer:
        writer.write(10, {"loss": 0.5})
        writer.write(20, {"loss": 0.25})
    with WriterThread([TensorBoard()], workdir, 10) as writer:
        writer.write(20, {"loss": 0.125})
    events = events_in(tmp_path / "tensorboard")
    scalars = [
        (event.step, value.tag, value.simple_value)
        for event in events
        for value in event.summary.value
    ]
    assert scalars == [(10, "loss", 0.5), (20, "loss", 0.25), (20, "loss", 0.125)]
    starts = [e.step for e in events if e.session_log.status == e.session_log.START]
    assert starts == [1, 11]


class OnDisk:
    """A sink whose disk is full; says on which thread it was asked."""

    threads: set[str]

    def __init__(self):
        self.threads = set()

    def open(self, workdir, step):
        return self

    def write(self, step, values):
        self.threads.add(threading.current_thread().name)
        raise OSError(28, "No space left on device")

    def flush(self):
        pass

    def close(self):
        pass


def test_what_a_sink_raises_ends_the_run_at_the_next_flush(tmp_path):
    sink = OnDisk()
    with WriterThread([sink], epath.Path(tmp_path), 0) as writer:
        writer.write(1, {"loss": 1.0})
        with pytest.raises(RunFailedError, match="could not be written"):
            writer.flush()
    assert sink.threads == {"fdlkit-writers"}


class OutOfReach:
    """A service's writer whose client has errors of its own."""

    class ClientError(Exception):
        pass

    def open(self, workdir, step):
        raise self.ClientError("no server at http://localhost:1")


def test_what_a_client_raises_at_the_beginning_is_told_without_a_traceback(tmp_path):
    with pytest.raises(RunFailedError) as refused:
        WriterThread([OutOfReach()], epath.Path(tmp_path), 0)
    assert "ClientError: no server" in refused.value.lines[1]


def test_what_a_sink_raises_is_told_on_leaving(tmp_path):
    with (
        pytest.raises(RunFailedError, match="No space left on device"),
        WriterThread([OnDisk()], epath.Path(tmp_path), 0) as writer,
    ):
        writer.write(1, {"loss": 1.0})

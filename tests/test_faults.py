"""Every way for a job to end: told apart, bounded, and nothing of it left running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from frameworks import INSTALLED

from benchmark.sweeps.process import Limits, Pool, worker_environment
from benchmark.sweeps.supervisor import descendants, is_running

ROOT = Path(__file__).parent.parent

JOBS = """
import ctypes, os, re, signal, subprocess, sys, time

def answer(payload, emit):
    emit(event="progress", done=1, of=2)
    return {"x": payload.get("x", 1)}
def error(payload, emit): raise KeyError("lost")
def refuse(payload, emit):
    from benchmark.spec import UserError
    raise UserError("not so")
def unsupported(payload, emit):
    from benchmark.spec import Unsupported
    raise Unsupported("never")
def diverge(payload, emit):
    from benchmark.training.loop import DivergedError
    raise DivergedError("at step 3")
def leave(payload, emit): os._exit(payload["code"])
def half(payload, emit):
    channel = emit.__closure__[0].cell_contents
    os.write(channel.fileno(), b'{"event": "result", "result"')
    os._exit(0)
def large(payload, emit): return {"x": "a" * 5_000_000}
def noisy(payload, emit):
    print('{"event": "result", "result": {"x": "forged"}}' * 1000, flush=True)
    os.write(2, b"x" * 1_000_000)
    return {"x": 1}
def segfault(payload, emit): ctypes.string_at(0)
def abort(payload, emit): os.abort()
def kill(payload, emit): os.kill(os.getpid(), signal.SIGKILL)
def sleep(payload, emit): time.sleep(60)
def gil(payload, emit): re.match("(a+)+$", "a" * 64 + "b")
def numpy_memory(payload, emit):
    import numpy
    return {"x": float(numpy.ones(1 << 32)[0])}
def torch_memory(payload, emit):
    import torch
    return {"x": float(torch.ones(1 << 32)[0])}
def jax_memory(payload, emit):
    import jax.numpy
    return {"x": float(jax.numpy.ones(1 << 32)[0])}
def offspring(payload, emit):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pids = [subprocess.Popen(["sleep", "60"]).pid]                            # a child
    pids.append(subprocess.Popen(["sleep", "60"], start_new_session=True).pid)  # in a session of its own
    read, write = os.pipe()
    if os.fork() == 0:                                                         # forked twice, without exec
        os.setsid()
        if os.fork() == 0:
            os.write(write, str(os.getpid()).encode())
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(60)
        os._exit(0)
    pids.append(int(os.read(read, 20)))
    print("pids", *pids, flush=True)
    with open(payload["path"], "w") as file:
        file.write(" ".join(map(str, [os.getpid(), *pids])))
    if payload["hang"]:
        time.sleep(60)
    return {}
"""


@pytest.fixture(params=["fork", "spawn"])
def pool(request, tmp_path, monkeypatch):
    (tmp_path / "jobs_for_tests.py").write_text(JOBS)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    with Pool(request.param) as pool:
        yield pool


def run(pool, job, payload=None, **options):
    return pool.run(f"jobs_for_tests:{job}", payload or {}, {}, **options)


def test_an_answer_and_its_progress(pool):
    events = []
    outcome = run(pool, "answer", {"x": 7}, on_event=events.append)
    assert (outcome.status, outcome.result) == ("ok", {"x": 7})
    assert events == [{"event": "progress", "done": 1, "of": 2}]
    assert 0 < outcome.cpu_s < 30


ENDINGS = [
    ("error", {}, "failed", "KeyError: 'lost'"),
    ("refuse", {}, "failed", "not so"),
    ("unsupported", {}, "unsupported", "never"),
    ("diverge", {}, "diverged", "at step 3"),
    ("leave", {"code": 0}, "failed", "exit code 0 and no result"),
    ("leave", {"code": 3}, "failed", "exit code 3 and no result"),
    ("half", {}, "failed", "exit code 0 and no result"),
    ("segfault", {}, "crashed", "by SIGSEGV"),
    ("abort", {}, "crashed", "by SIGABRT"),
    ("kill", {}, "killed", "by SIGKILL"),
]


@pytest.mark.parametrize(("job", "payload", "status", "reason"), ENDINGS)
def test_every_end_is_told_apart(pool, job, payload, status, reason):
    outcome = run(pool, job, payload)
    assert (outcome.status, outcome.result) == (status, None)
    assert reason in outcome.reason
    assert run(pool, "answer").status == "ok"  # the next job is none the worse


def test_the_last_lines_are_kept(pool):
    assert "KeyError: 'lost'" in run(pool, "error").output_tail
    assert "string_at" in run(pool, "segfault").output_tail
    assert run(pool, "answer").output_tail == ""


def test_large_results_and_noise(pool):
    assert len(run(pool, "large").result["x"]) == 5_000_000
    assert run(pool, "noisy").result == {"x": 1}


@pytest.mark.parametrize("job", ["sleep", "gil"])
def test_a_hang_is_killed_in_time_and_says_where_it_was(pool, job):
    start = time.monotonic()
    outcome = run(pool, job, limits=Limits(timeout_s=1.5))
    assert time.monotonic() - start < 10
    assert outcome.status == "timeout"
    assert outcome.reason == "no result within 1.5 s"
    assert f"in {job}" in outcome.output_tail


@pytest.mark.parametrize(
    ("job", "framework"),
    [("numpy_memory", None), *((f"{name}_memory", name) for name in INSTALLED)],
)
def test_memory_that_is_refused(pool, job, framework):
    variables = worker_environment(threads=1, device="cpu")
    limits = Limits(memory_bytes=6 << 30)
    outcome = pool.run(f"jobs_for_tests:{job}", {}, variables, framework=framework, limits=limits)
    assert outcome.status == "oom"
    assert outcome.reason.startswith("allocator: ")


@pytest.mark.parametrize("hang", [False, True])
def test_nothing_is_left_running(pool, tmp_path, hang):
    path = tmp_path / "pids"
    outcome = run(pool, "offspring", {"hang": hang, "path": str(path)}, limits=Limits(timeout_s=3))
    assert outcome.status == ("timeout" if hang else "ok")
    pids = [int(word) for word in path.read_text().split()]
    assert len(pids) == 4
    assert not any(is_running(pid) for pid in pids)


def test_an_interrupted_harness_leaves_nothing(pool, tmp_path):
    path = tmp_path / "pids"

    def interrupt(_):
        raise KeyboardInterrupt

    (tmp_path / "more_jobs.py").write_text(
        "import time, jobs_for_tests\n"
        "def job(payload, emit):\n"
        "    jobs_for_tests.offspring(payload | {'hang': False}, emit)\n"
        "    emit(event='progress', done=0, of=1)\n"
        "    time.sleep(60)\n"
    )
    with pytest.raises(KeyboardInterrupt):
        pool.run("more_jobs:job", {"path": str(path)}, {}, on_event=interrupt)
    assert not any(is_running(int(word)) for word in path.read_text().split())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_harness_leaves_nothing(tmp_path, number):
    (tmp_path / "jobs_for_tests.py").write_text(JOBS)
    path = tmp_path / "pids"
    code = (
        "from benchmark.sweeps.process import Pool\n"
        f"with Pool() as pool: pool.run('jobs_for_tests:offspring', {{'hang': True, 'path': {str(path)!r}}}, {{}})"
    )
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    harness = subprocess.Popen([sys.executable, "-c", code], env=env)
    for _ in range(300):
        if path.exists() and len(path.read_text().split()) == 4:
            break
        time.sleep(0.1)
    pids = [int(word) for word in path.read_text().split()] + descendants(harness.pid)
    harness.send_signal(number)
    harness.wait(20)
    for _ in range(100):
        if not any(is_running(pid) for pid in pids):
            return
        time.sleep(0.1)
    pytest.fail("something of a killed harness still runs")


def test_no_core_files(pool, tmp_path, monkeypatch):
    run(pool, "abort")
    assert not list(Path.cwd().glob("core*"))


def test_frameworks_never_share_a_process(tmp_path, monkeypatch):
    if len(INSTALLED) < 2:
        return
    (tmp_path / "seen.py").write_text(
        "import sys\ndef job(payload, emit): return {n: n in sys.modules for n in ('torch', 'jax')}\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    with Pool() as pool:
        for framework in ("torch", "jax", "torch"):
            variables = worker_environment(threads=1, device="cpu")
            seen = pool.run("seen:job", {}, variables, framework=framework).result
            assert [name for name, present in seen.items() if present] == [framework]
        assert len(pool.supervisors) == 2


@pytest.mark.parametrize("framework", INSTALLED)
def test_a_supervisor_starts_no_backend(framework, tmp_path, monkeypatch):
    """The framework is imported, and nothing of it is initialised that a fork would break."""
    check = {
        "torch": "import torch; found = torch.cuda.is_initialized()",
        "jax": "from jax._src import xla_bridge; found = bool(xla_bridge._backends)",
    }[framework]
    (tmp_path / "look.py").write_text(f"def job(payload, emit):\n    {check}\n    return {{'started': found}}\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    with Pool() as pool:
        variables = worker_environment(threads=1, device="cpu")
        assert pool.run("look:job", {}, variables, framework=framework).result == {"started": False}

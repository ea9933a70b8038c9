"""The gate on real code: a clone of this checkout, measured, changed, measured again, and gated with --rerun.

python tests/gate_on_real_code.py            an unchanged tree, 20 times: how often does it pass? Exit 1 below --least.
python tests/gate_on_real_code.py --slowed   the same with calls that sleep: how often is it caught?

The slow-down is a commit of the clone alone: its jobs sleep before each call for ROTBENCH_TEST_SLEEP_MS.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CELLS = ("--layer", "lru,s5", "--framework", "torch", "--seq-len", "512", "--batch", "2", "--threads", "1")
EFFORT = ("--d-model", "32", "--d-state", "32", "--budget-s", "0.3", "--wait")
HOOK = """

def _sleeping(first_run):
    def slowed(cell, device, algorithm):
        call, found = first_run(cell, device, algorithm)
        seconds = float(os.environ.get("ROTBENCH_TEST_SLEEP_MS", "0")) / 1e3
        return call._replace(run=lambda: (time.sleep(seconds), call.run())[1]), found

    return slowed


_first_run = _sleeping(_first_run)
"""


def git(folder, *words):
    names = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


def clone(folder):
    """This checkout's last commit, with a second one on top that sleeps if it is told to."""
    git(ROOT, "clone", "-q", "--shared", str(ROOT), str(folder))
    return folder


def slow_down(checkout):
    jobs = checkout / "benchmark/sweeps/jobs.py"
    jobs.write_text(jobs.read_text() + HOOK)
    git(checkout, "commit", "-qam", "sleeps")


def measure(checkout, out):
    """A sweep of the checkout's code."""
    words = [sys.executable, str(checkout / "cli.py"), "speed", *CELLS, *EFFORT, "--out", str(out)]
    subprocess.run(words, cwd=checkout, check=True, capture_output=True)
    return out


def gated(checkout, before, after):
    """The gate's exit code, and what it says."""
    words = ["gate", str(after), "--baseline", str(before), "--rerun", "--checkout", str(checkout)]
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv = ['rotbench', *{words!r}]; import cli; cli.main()"
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=checkout, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slowed", action="store_true")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--least", type=int, default=19, help="exit 1 if fewer rounds end as they should")
    given = parser.parse_args()
    wanted, good = (1 if given.slowed else 0), 0
    with tempfile.TemporaryDirectory() as name:
        checkout = clone(Path(name) / "clone")
        before = measure(checkout, Path(name) / "before")
        if given.slowed:
            slow_down(checkout)
        for nth in range(given.rounds):
            code, text = gated(checkout, before, measure(checkout, Path(name) / f"after{nth}"))
            good += code == wanted
            print(f"round {nth + 1}: exit {code}\n{text}", flush=True)
    print(f"{good} of {given.rounds} rounds {'were caught' if given.slowed else 'passed'}")
    sys.exit(good < given.least)


if __name__ == "__main__":
    main()

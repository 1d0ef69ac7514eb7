"""One corpus on one machine and on a Spark cluster whose worker is killed meanwhile: the same shards?

    python scripts/cluster_kill.py --recipe corpora.yaml --out kill

Starts a standalone master and two workers on this machine, prepares the recipe by DuckDB and by
the cluster, kills one worker with its executor by SIGKILL once the shards are being shuffled, and compares
the hashes. Time, and the processor time and the largest memory of the processes of each, are printed; what a
process used in its last second may be missing.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

COMMAND = "from translate.cli.main import main; main()"
SHUFFLE = "writing the shards"  # the note after which a worker is killed


class Watch:
    """Processor time and largest memory of all processes of some sessions, and of those below this one."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[int, str], float] = {}
        self.largest: dict[tuple[int, str], int] = {}  # KiB
        self.sessions: list[int] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.5):
            parents: dict[int, int] = {}
            for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda each: int(each.name)):
                try:
                    values = (folder / "stat").read_text().rpartition(")")[2].split()
                    status = (folder / "status").read_text()
                except OSError:
                    continue
                number, peak = int(folder.name), status.partition("VmHWM:")[2].split()
                parents[number] = int(values[1])
                ticks = int(values[11]) + int(values[12])  # of user and system
                key = (number, values[19])  # with the time of its start, as numbers are used again
                if peak and self._is_ours(number, parents, int(values[3])):
                    self.largest[key] = max(self.largest.get(key, 0), int(peak[0]))
                    self.seconds[key] = ticks / os.sysconf("SC_CLK_TCK")

    def _is_ours(self, number: int, parents: dict[int, int], session: int) -> bool:
        if session in self.sessions:
            return True
        while number in parents and number != os.getpid():
            number = parents[number]
        return number == os.getpid()

    def summary(self) -> str:
        """One line."""
        largest = max(self.largest.values(), default=0) / 2**10
        return (
            f"{sum(self.seconds.values()):.0f} s of processors, largest of {len(self.seconds)} processes "
            f"{largest:,.0f} MiB"
        )


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class StandaloneCluster:
    """A Spark master and workers, each a process group of its own, so that it can be killed whole."""

    def __init__(self, folder: Path, *, workers: int, memory: str) -> None:
        import pyspark

        folder.mkdir(parents=True, exist_ok=True)
        home = Path(pyspark.__file__).parent
        self.folder, self.port = folder, free_port()
        self.environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }
        self.launcher = str(home / "bin" / "spark-class")
        at = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(free_port())]
        self.processes = [self._start("master", "org.apache.spark.deploy.master.Master", at)]
        self._wait("master", "I have been elected leader")
        for number in range(workers):
            options = ["--host", "127.0.0.1", "--cores", "1", "--memory", memory]
            options += ["--webui-port", str(free_port()), "--work-dir", str(folder / f"worker{number}")]
            kind = "org.apache.spark.deploy.worker.Worker"
            self.processes.append(self._start(f"worker{number}", kind, [*options, self.url]))
            self._wait(f"worker{number}", "Successfully registered")

    @property
    def url(self) -> str:
        """Of the master."""
        return f"spark://127.0.0.1:{self.port}"

    def _start(self, name: str, kind: str, options: list[str]) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [self.launcher, kind, *options],
                stdout=log,
                stderr=log,
                env=self.environment,
                start_new_session=True,
            )

    def _wait(self, name: str, text: str, seconds: float = 300) -> None:
        log, end = self.folder / f"{name}.log", time.monotonic() + seconds
        while text not in log.read_text(errors="replace"):
            if time.monotonic() > end:
                raise SystemExit(f"{log}: no {text!r} within {seconds:.0f} s")
            time.sleep(0.2)

    def kill_worker(self) -> None:
        """Kill a worker and its executor, without a farewell."""
        os.killpg(self.processes.pop().pid, signal.SIGKILL)

    def close(self) -> None:
        """End what is left."""
        for process in self.processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def prepare(recipe: Path, out: Path, options: list[str], cluster: StandaloneCluster | None) -> str:
    """The hash of a preparation; with a cluster, one of its workers dies in the shuffle of the shards."""
    begin = time.perf_counter()
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", COMMAND, "prepare", "--recipe", str(recipe), "--out", str(out), *options]
    with (
        Watch() as watch,
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process,
    ):
        watch.sessions += [] if cluster is None else [each.pid for each in cluster.processes]
        assert process.stderr is not None
        for line in process.stderr:
            print(f"  {time.perf_counter() - begin:6.1f} s  {line.rstrip()}"[:200], flush=True)
            if cluster is not None and SHUFFLE in line:
                time.sleep(1)
                cluster.kill_worker()
                print("  one worker killed", flush=True)
    if process.returncode:
        raise SystemExit(f"prepare ended with {process.returncode}")
    print(f"{time.perf_counter() - begin:.0f} s; {watch.summary()}", flush=True)
    found: str = json.loads((out / "manifest.json").read_text())["hash"]
    return found


def main() -> None:
    """Prepare twice, and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recipe", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    parser.add_argument("--memory", default="1G", help="of each process")
    parser.add_argument("--workers", default="2", help="processes of DuckDB's side")
    arguments = parser.parse_args()
    alone = prepare(
        arguments.recipe,
        arguments.out / "one-machine",
        ["--memory", arguments.memory, "--workers", arguments.workers],
        None,
    )
    cluster = StandaloneCluster(arguments.out / "cluster", workers=2, memory="2g")
    try:
        options = ["--engine", "spark", "--master", cluster.url, "--memory", arguments.memory]
        together = prepare(arguments.recipe, arguments.out / "cluster-shards", options, cluster)
    finally:
        cluster.close()
    print(f"one machine {alone}\ncluster     {together}")
    if alone != together:
        raise SystemExit("the shards differ")
    print("equal")


if __name__ == "__main__":
    main()

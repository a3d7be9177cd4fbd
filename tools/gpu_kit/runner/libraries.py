"""Finds NVIDIA's libraries on this machine: in a toolkit, the system's folders, or the packages that PyTorch
installs."""

import functools
import glob
import os
import pathlib
import shutil
import site
import subprocess
import sys

KIT = pathlib.Path(__file__).resolve().parent.parent
SYSTEM = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/nvidia/lib64")
PACKAGES = "import site, sysconfig; print(*{sysconfig.get_paths()['purelib'], *site.getsitepackages()}, sep='\\n')"


@functools.lru_cache(maxsize=None)
def python_with_torch():
    """The interpreter that has PyTorch: this one, or the first in PATH that has it; None if there is none."""
    names = [sys.executable, *filter(None, map(shutil.which, ("python3", "python"))), "/opt/conda/bin/python"]
    for python in dict.fromkeys(names):
        found = subprocess.run([python, "-c", "import importlib.util as u; raise SystemExit(u.find_spec('torch') is None)"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) if os.access(python, os.X_OK) else None
        if found is not None and found.returncode == 0:
            return python
    return None


def package_folders():
    """Folders of Python packages: those of this interpreter and of the one that has PyTorch."""
    folders = [*site.getsitepackages(), site.getusersitepackages()]
    python = python_with_torch()
    if python and python != sys.executable:
        folders += subprocess.run([python, "-c", PACKAGES], capture_output=True, text=True).stdout.split()
    return folders


def nvidia_folders():
    """Folders with NVIDIA's libraries. A toolkit's come first; cuDNN and NCCL may be in the packages only."""
    toolkits = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"))]
    found = [os.path.join(root, lib) for root in toolkits if root for lib in ("lib64", "lib", "extras/CUPTI/lib64")]
    for folder in package_folders():
        found += sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib")))
    return [folder for folder in dict.fromkeys([*found, *SYSTEM]) if os.path.isdir(folder)]


def environment():
    """This process's environment, extended so that the kit's programs find their libraries."""
    folders = [str(KIT / "lib"), *nvidia_folders(), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(folders)}

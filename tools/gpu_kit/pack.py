"""Packs the kit's archive from a build folder."""

import json
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

NAME = "lockstep-gpu-kit"
LARGEST = 60 * 10**6  # bytes
HERE = pathlib.Path(__file__).resolve().parent
# Libraries that the target machine provides: glibc, the driver, and CUDA's, whose licenses also forbid redistribution.
THE_MACHINES = re.compile(r"(linux-vdso|ld-linux|lib(c|m|mvec|dl|pthread|rt|resolv|util|anl)\.so|lib(cuda|cudart|cublas|cublasLt"
                          r"|cudnn\w*|nccl|nvrtc|cupti|nvJitLink|nvidia-\w+)\.so)")
LIBRARY = re.compile(r"\s*(\S+) => (not found|\S+)")


class Problem(Exception):
    pass


def output_of(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def tests_of(build, pattern):
    """The tests labelled gpu, as listed by ctest, and their programs."""
    listed = json.loads(output_of("ctest", "--test-dir", build, "-L", "^gpu$", "-R", pattern or ".", "--show-only=json-v1"))
    tests, programs = [], []
    for test in listed["tests"]:
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        if "command" not in test or not pathlib.Path(test["command"][0]).is_file():
            raise Problem(f"the program of the test {test['name']} has not been built: build the target gpu_kit")
        program, *options = test["command"]
        filters = [option.partition("=")[2] for option in options if option.startswith("--gtest_filter=")]
        if len(filters) != 1:
            raise Problem(f"the test {test['name']} is labelled gpu and no GoogleTest program with a filter: {test['command']}")
        programs.append(pathlib.Path(program))
        tests.append({"name": test["name"], "program": f"bin/{programs[-1].name}", "filter": filters[0],
                      "environment": dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))})
    if not tests:
        raise Problem(f"no test is labelled gpu and matches '{pattern}'")
    return tests, programs


def libraries_of(files):
    """The shared libraries that the files load and the target machine does not provide, by name."""
    found = {}
    for name, path in LIBRARY.findall(output_of("ldd", *files)):
        if THE_MACHINES.match(name):
            continue
        if path == "not found":
            raise Problem(f"{name}, which a program of the kit needs, is not on this machine")
        found[name] = pathlib.Path(path)
    return found


def copy_stripped(sources, folder):
    folder.mkdir(exist_ok=True)
    for name, source in sources.items():
        if (folder / name).exists():
            raise Problem(f"two files of the kit are called {name}")
        shutil.copyfile(source, folder / name)
        (folder / name).chmod(0o755)
        subprocess.run(["strip", "--strip-unneeded", folder / name], check=True)


def forget_places(kit, build, root):
    """Removes from the programs' run paths this machine's library folders, and checks that they name no folder of
    the build."""
    files = [path for folder in ("bin", "lib") for path in sorted((kit / folder).iterdir()) if path.is_file()]
    with tempfile.NamedTemporaryFile("w", suffix=".cmake") as script:
        script.writelines(f'file(RPATH_REMOVE FILE "{path}")\n' for path in files)
        script.flush()
        output_of("cmake", "-P", script.name)
    for path in files:
        content = path.read_bytes()
        for folder in (build, root):
            if f"{folder}/".encode() in content:
                raise Problem(f"{path.name} names the folder {folder}, which is nowhere else")


def commit_of(root):
    try:
        changed = output_of("git", "-C", root, "status", "--porcelain", "--untracked-files=no")
        return output_of("git", "-C", root, "rev-parse", "HEAD").strip() + ("+changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def gather(kit, root, build, pattern):
    parts = json.loads((build / "gpu_kit.json").read_text())
    tests, programs = tests_of(build, pattern)
    programs = {path.name: path for path in [*map(pathlib.Path, parts["programs"]), *programs]}
    own = {path.name: path for path in map(pathlib.Path, parts["libraries"])}
    for path in [*programs.values(), *own.values()]:
        if not path.is_file():
            raise Problem(f"{path} has not been built: build the target gpu_kit")
    libraries = libraries_of([*programs.values(), *own.values()])
    copy_stripped(programs, kit / "bin")
    copy_stripped({**libraries, **own}, kit / "lib")
    forget_places(kit, build, root)
    for folder in map(pathlib.Path, parts["data"]):
        shutil.copytree(folder, kit / "bin" / folder.name)
    for name in ("run", "lockstep", "README.md"):
        shutil.copy(HERE / name, kit / name)
    without_cache = shutil.ignore_patterns("__pycache__")
    shutil.copytree(HERE / "runner", kit / "runner", ignore=without_cache)
    shutil.copytree(root / "bench" / "peers", kit / "bench" / "peers", ignore=without_cache)
    manifest = {**{key: parts[key] for key in ("version", "architectures", "build_type")}, "commit": commit_of(root), "tests": tests}
    (kit / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return f"{len(programs)} programs, {len(libraries) + len(own)} libraries, {len(tests)} tests"


def pack(root, build, output, pattern, compression):
    """Writes the archive and prints its content. It is one solid xz stream: Python unpacks it without further
    programs, and the programs share most of their bytes."""
    with tempfile.TemporaryDirectory() as scratch:
        kit = pathlib.Path(scratch) / NAME
        kit.mkdir()
        contents = gather(kit, root, build, pattern)
        partial = output.with_name(output.name + ".partial")
        with tarfile.open(partial, "w:xz", preset=compression) as archive:
            archive.add(kit, NAME)
    size = partial.stat().st_size
    if size > LARGEST:
        partial.unlink()
        raise Problem(f"the archive would have {size / 1e6:.1f} MB, more than {LARGEST / 1e6:.0f}: --tests leaves some out")
    partial.replace(output)
    return f"{output}: {size / 1e6:.1f} MB; {contents}"

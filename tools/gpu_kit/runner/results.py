"""Writes the results of a run of the kit to disk, line by line, before the next item begins."""

import collections
import datetime
import gzip
import json
import pathlib
import tarfile
import threading

VERDICTS = ("passed", "failed", "crashed", "timed out", "skipped", "not begun", "not there")
# The verdicts of a run without failures.
GOOD = {"passed", "not there"}
LARGEST = 16 << 20  # bytes of a file
MOST_OF_A_LOG = 256 << 10
SUMMARY = "summary.json"
BY_GROUP = collections.defaultdict(lambda: "tests.jsonl", bench="bench.jsonl", several="bench.jsonl", peers="torch.jsonl")


def earlier(out):
    """The verdicts in the summary in folder `out`, by (group, item, case)."""
    summary = json.loads((out / SUMMARY).read_text())
    return {tuple(entry["of"]): entry["verdict"] for entry in summary["verdicts"]}


class Results:
    def __init__(self, out, kit, known=None):
        """`known`: verdicts of an earlier run, which stay valid until this run replaces them."""
        self.out = out
        self.kit = kit
        self.verdicts = dict(known or {})
        self.lock = threading.Lock()
        self.began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self.logs = out / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        if known is None:
            for name in {*BY_GROUP.values(), BY_GROUP.default_factory()}:
                (out / name).unlink(missing_ok=True)

    def add(self, group, item, verdict, case=None, seconds=0.0, detail="", figures=None):
        line = {"group": group, "item": item, "case": case, "verdict": verdict, "seconds": round(seconds, 3)}
        line.update({"detail": detail[-4000:]} if detail else {})
        line.update({"figures": figures} if figures is not None else {})
        with self.lock:
            if case is not None:  # a verdict on the whole item is obsolete
                self.verdicts.pop((group, item, None), None)
            self.verdicts[group, item, case] = verdict
            with open(self.out / BY_GROUP[group], "a") as file:
                file.write(json.dumps(line) + "\n")
            if verdict not in ("passed", "not begun"):
                print(f"{verdict}: {group}/{item}{'/' + case if case else ''}{': ' + first_line(detail) if detail else ''}",
                      flush=True)

    def forget(self, group, item):
        """Drops an item's bad verdicts of an earlier run, before the item runs again."""
        for of in [of for of, verdict in self.verdicts.items() if of[:2] == (group, item) and verdict not in GOOD]:
            del self.verdicts[of]

    def counts(self):
        return {verdict: sum(v == verdict for v in self.verdicts.values()) for verdict in VERDICTS}

    def finish(self, machine, seconds):
        """Writes the summary, packs the logs and prints the counts; returns whether all verdicts are good."""
        write_logs(self.logs, self.out / "logs.tar.xz")
        for path in self.out.glob("*.jsonl"):
            cut(path)
        verdicts = [{"of": of, "verdict": verdict} for of, verdict in self.verdicts.items()]
        summary = {"kit": self.kit, "machine": machine, "began": self.began, "seconds": round(seconds, 1),
                   "counts": self.counts(), "verdicts": verdicts}
        (self.out / SUMMARY).write_text(json.dumps(summary, indent=1) + "\n")
        missing = [f"{group}/{item}" for (group, item, _), verdict in self.verdicts.items() if verdict == "not there"]
        if missing:
            print(f"not there, and so not run: {', '.join(missing)}")
        print(", ".join(f"{verdict} {count}" for verdict, count in self.counts().items()), flush=True)
        return all(verdict in GOOD for verdict in self.verdicts.values())


def first_line(text):
    return text.strip().splitlines()[0][:200]


def write_logs(folder, archive):
    """Packs the logs into one archive; a long log keeps only its end."""
    with tarfile.open(archive, "w:xz") as packed:
        for path in sorted(folder.iterdir()):
            data = path.read_bytes()
            if path.suffix == ".log" and len(data) > MOST_OF_A_LOG:
                path.write_bytes(b"...\n" + data[-MOST_OF_A_LOG:])
            packed.add(path, f"logs/{path.name}")
            path.unlink()
    folder.rmdir()


def write_traces(traces, path):
    """Writes the traces of several programs, by name, as one Chrome trace; drops short events if it would be too
    large."""
    events = []
    for pid, (name, file) in enumerate(traces.items()):
        content = json.loads(pathlib.Path(file).read_text())
        own = content["traceEvents"] if isinstance(content, dict) else content
        events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}})
        events += [{**event, "pid": pid} for event in own]
    while True:
        with gzip.open(path, "wt") as file:
            json.dump({"traceEvents": events}, file)
        if path.stat().st_size < LARGEST:
            return
        events = sorted(events, key=lambda event: -event.get("dur", 1 << 60))[:len(events) // 2]


def cut(path):
    """Truncates a file to the size limit and marks the cut."""
    if path.exists() and path.stat().st_size >= LARGEST:
        data = path.read_bytes()[:LARGEST - 100]
        path.write_bytes(data + b"\n... cut off here\n")

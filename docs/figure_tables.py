"""Which figures of a benchmark docs/performance.md and README show: its table, and its lines of their summaries.

In a line of a summary, {CASE|WHO} is a figure and {CASE|WHO over OTHER} how many times it is better than the other's. A clause
whose figures a run lacks is left out.
"""
import dataclasses


@dataclasses.dataclass
class row:
    label: str
    case: str
    own: str = "mdstream"  # the contender that the others are compared with
    field: str = ""        # of the line, if it is not the figure itself: cpu_s, rss_mb

    def shown(self, value):
        return f"{value:.3g} s" if self.field == "cpu_s" else f"{value:.0f} MiB"


@dataclasses.dataclass
class shown_table:
    corner: str
    rows: list
    columns: dict  # head -> {contender: its name in the cell}; of several the fastest is shown
    picture: str   # the chart below the table, as the page shows it
    in_short: dict = dataclasses.field(default_factory=dict)   # first cell -> further cells, each a list of clauses
    in_readme: dict = dataclasses.field(default_factory=dict)


def peers(*names):
    return {name: {name: ""} for name in names}


def limit(*whos):
    """Limits of the machine, each by its own name."""
    return {f"limit:{who}": who for who in whos}


def command_limit(*whos):
    return {f"limit:{who}": f"`{who}`" for who in whos}


DOWNLOADS = [("64 x 32 MiB", "64 x 32 MiB"), ("2000 x 1 MiB", "2000 x 1 MiB"), ("20000 x 64 KiB", "20000 x 64 KiB")]
FIRST = "download, 64 x 32 MiB, to memory"
FORMATS = {"JSON lines": "jsonl", "CSV": "csv", "Parquet": "parquet", "WebDataset archives": "tar", "files of 110 KB": "files of 110 KB",
           "windows of 1,025 tokens": "token windows"}
LARGE, SMALL = "1e8 samples, 1e5 shards", "1e7 samples, 1e6 shards"

TABLES = {
    "loader": shown_table(
        "a second", [row("shuffled batches, samples of 1 KiB", "iteration, 1 KiB"), row("samples of 64 B", "iteration, 64 B"),
                     row("2,048 tokens", "iteration, 2048 uint16"), row("JPEG files of 110 KB", "iteration, 110 KB JPEG"),
                     row("random access, samples of 1 KiB", "random access, 1 KiB"),
                     row("random access, samples of 64 B", "random access, 64 B")],
        {"mapped files": {"limit:mmap": ""}} | peers("mlx-data", "litdata", "webdataset", "mosaicml-streaming"),
        "![Samples a second beside other libraries](images/loader.svg)",
        {"How fast is a loop?": (["{iteration, 1 KiB|mdstream} samples of 1 KiB a second, one process"],
                                 ["{iteration, 1 KiB|mdstream over limit:mmap} times plain reads of mapped files",
                                  "{iteration, 1 KiB|mdstream over mosaicml-streaming} times MosaicML Streaming",
                                  "{iteration, 1 KiB|mdstream over litdata} times LitData"])},
        {"speed of a loop": ([
            "{iteration, 1 KiB|mdstream} shuffled samples of 1 KiB a second in one process",
            "{iteration, 1 KiB|mdstream over mosaicml-streaming} times MosaicML Streaming",
            "{iteration, 1 KiB|mdstream over litdata} times LitData",
            "{iteration, 1 KiB|mdstream over limit:mmap} times plain reads of mapped files"],)}),
    "epoch": shown_table(
        "from a web server, cache empty",
        [row("raw shards", "first epoch, raw"), row("zstd shards", "first epoch, zstd"),
         row("to the first batch, 100,000 shards", "time to first batch, 100000 shards"),
         row("to a batch in the middle, 100,000 shards", "resume in the middle, 100000 shards")],
        {"limit": command_limit("mdstream copy", "zstd -d") | limit("1.2 x its parts + 50 ms", "cold start")}
        | peers("litdata", "mosaicml-streaming", "mosaicml-streaming, two workers"),
        "![First epochs beside the limit](images/epoch.svg)",
        {"How fast is a first epoch?": (["{first epoch, raw|mdstream} samples of 2 KiB a second"],
                                        ["{first epoch, raw|mdstream over limit:mdstream copy} times a plain copy",
                                         "zstd shards {first epoch, zstd|mdstream over limit:zstd -d} times `zstd -d`"]),
         "When is the first batch there?": (["after {time to first batch, 100000 shards|mdstream}, of 100,000 shards"],
                                            ["{time to first batch, 100000 shards|mdstream over limit:1.2 x its parts + 50 ms} "
                                             "times as fast as the bound (1.2 times its parts and 50 ms)"])}),
    "cache": shown_table(
        "ten epochs, 65 shards",
        [row(f"downloads, a cache of {percent} %", f"downloads, limit of {percent} %") for percent in (10, 30, 60)]
        + [row("samples a second, eight processes on one cache", "eight processes on one cache")],
        {"limit": {"limit:offline optimum": "the fewest possible", "limit:0.8 x cores x one process": "0.8 x cores x one process"}},
        "![Downloads of ten epochs beside the fewest possible](images/cache.svg)",
        {"What does a cache save?": (["ten epochs with a cache of 30 % fetch {downloads, limit of 30 %|mdstream} shards of 650"],
                                     ["{downloads, limit of 30 %|limit:offline optimum over mdstream:.3f} times the fewest possible"])},
        {"one cache for a node": ([
            "each shard is fetched once; killed processes need no cleaning; with a cache of 30 %, ten epochs fetch "
            "{downloads, limit of 30 %|limit:offline optimum over mdstream:.3f} times the least possible"],)}),
    "restart": shown_table(
        "SIGKILL, then a new process to the end of one batch",
        [row("65 shards", "resume after SIGKILL, warm cache"),
         row("100,000 shards, 10^8 samples", "resume after SIGKILL, 1e5 shards, 1e8 samples")],
        {"bound": limit("1.2 x a process that begins", "0.5 s + reading the index")},
        "![Seconds until a new process has a batch, beside the bound](images/restart.svg)",
        {"What does a restart cost?": (["{resume after SIGKILL, warm cache|mdstream}",
                                        "{resume after SIGKILL, 1e5 shards, 1e8 samples|mdstream} with 100,000 shards"],
                                       ["the bound is {resume after SIGKILL, warm cache|limit:1.2 x a process that begins}",
                                        "{resume after SIGKILL, 1e5 shards, 1e8 samples|limit:0.5 s + reading the index} with 100,000 shards"])}),
    "raw": shown_table(
        "bytes of the files a second",
        [row(f"first epoch, {label}", f"first epoch, {case}") for label, case in FORMATS.items()]
        + [row(f"cached epoch, {label}", f"cached epoch, {case}") for label, case in FORMATS.items()],
        {"same rows as MDS": {"mds": ""}, "pyarrow, decoding alone": {"pyarrow, decode": ""}, "datasets": {"huggingface datasets": ""}}
        | peers("litdata", "webdataset") | {"`cp -r`": {"limit:cp -r": ""}},
        "![First epochs of foreign files beside other libraries](images/raw.svg)",
        {"How fast are foreign files?": (["{first epoch, jsonl|mdstream} of JSON lines and {first epoch, parquet|mdstream} of Parquet in a first epoch"],
                                         ["{first epoch, jsonl|mdstream over mds} and {first epoch, parquet|mdstream over mds} times the same rows as MDS",
                                          "{first epoch, jsonl|mdstream over huggingface datasets} and "
                                          "{first epoch, parquet|mdstream over huggingface datasets} times Hugging Face datasets"])}),
    "transfer": shown_table(
        "16 objects at a time",
        [row(f"download to {place}, {size}", f"download, {case}, to {place}") for place in ("memory", "disk") for size, case in DOWNLOADS]
        + [row("download, 2 GiB in ranges", "download, 2 GiB in ranges")]
        + [row(f"download, 100 ms away, 1 % loss, 64 at a time, {size}", f"100 ms and 1 % loss, {size}") for size in ("256 x 256 KiB", "16 x 8 MiB")]
        + [row("upload, signed, 64 x 32 MiB", "upload, 64 x 32 MiB"), row("upload, signed, 256 x 1 MiB", "upload, 256 x 1 MiB"),
           row("CPU time of the first row", FIRST, field="cpu_s"), row("memory in the first row", FIRST, field="rss_mb")],
        {"curl": {"curl -Z": "", "curl -Z, 1 connections": "1 connection:"}
         | {f"curl -Z, {count} connections": f"{count} connections:" for count in (2, 4, 8, 16)}}
        | peers("s5cmd", "rclone", "obstore", "boto3"),
        "![Downloads beside other programs](images/copy.svg)",
        {"How fast is a copy?": (["{download, 64 x 32 MiB, to memory|mdstream} of large objects"],
                                 ["{download, 64 x 32 MiB, to memory|mdstream over rclone} times rclone",
                                  "{download, 64 x 32 MiB, to memory|mdstream over s5cmd} times s5cmd"])}),
    "checkpoint": shown_table(
        "1.5 GB, 124 M parameters with Adam",
        [row("save to S3", "save, S3"), row("load from S3", "load, S3"),
         row("load from S3, by 6 ranks what 4 saved", "load, S3", own="mdstream, 4 to 6 row shards"),
         row("save to a directory in memory", "save, directory"),
         row("the loop waits, if it computes for 2 s", "training loop blocked", own="mdstream, 2 s of compute"),
         row("the loop waits, if it computes nothing", "training loop blocked")],
        {"limit": {"mdstream copy": "`mdstream copy`", "limit:write": "write()", "limit:memcpy, 1 thread": "memcpy"}}
        | peers("safetensors + s5cmd", "safetensors + boto3", "torch.save + boto3"),
        "![Checkpoints in S3 beside other libraries](images/checkpoint.svg)",
        {"How long does a checkpoint stop the loop?": (
            ["{training loop blocked|mdstream, 2 s of compute} for 1.5 GB, if a step computes for 2 s",
             "{training loop blocked|mdstream} if nothing is computed"],
            ["a copy in memory takes {training loop blocked|limit:memcpy, 1 thread}",
             "a save to S3 is {save, S3|mdstream over safetensors + s5cmd} times as fast as safetensors with s5cmd",
             "a load {load, S3|mdstream over safetensors + s5cmd} times"])},
        {"checkpoints": ([
            "tensors and state go to the same stores while training continues: 1.5 GB stop the loop for "
            "{training loop blocked|mdstream, 2 s of compute}. Complete or absent; any number of ranks loads them"],)}),
    "order": shown_table(
        "py1e", [row("ids a second, 10^8 samples, 10^5 shards", f"py1e all ids, {LARGE}, NCN 1"),
                 row("the same, 8 canonical nodes", f"py1e all ids, {LARGE}, NCN 8"),
                 row("ids a second, 10^7 samples, 10^6 shards", f"py1e all ids, {SMALL}, NCN 1"),
                 row("first ids, 10^8 samples, 10^5 shards", f"py1e first ids, {LARGE}, NCN 1"),
                 row("the same, 8 canonical nodes, first ids", f"py1e first ids, {LARGE}, NCN 8"),
                 row("first ids, 10^9 samples, 10^6 shards", "py1e first ids, 1e9 samples, 1e6 shards, NCN 8")],
        peers("mosaicml-streaming"),
        "![An epoch's order beside MosaicML Streaming](images/order.svg)",
        {"How fast is an order?": ([f"10^8 samples at {{py1e all ids, {LARGE}, NCN 1|mdstream}}/s",
                                    f"the first after {{py1e first ids, {LARGE}, NCN 1|mdstream}}"],
                                   [f"{{py1e all ids, {LARGE}, NCN 1|mdstream over mosaicml-streaming}} times MosaicML Streaming",
                                    f"the first {{py1e first ids, {LARGE}, NCN 1|mdstream over mosaicml-streaming}} times sooner"])},
        {"order": ([
            "MosaicML Streaming's (0.13), bit for bit, on any number of ranks; reads its states and caches. 10^8 samples: the first is known after "
            f"{{py1e first ids, {LARGE}, NCN 1|mdstream}}",
            f"{{py1e first ids, {LARGE}, NCN 1|mdstream over mosaicml-streaming}} times sooner"],)}),
    "write": shown_table(
        "samples a second", [row("samples of 1 KiB", "write, 1 KiB"), row("samples of 64 B", "write, 64 B"),
                             row("samples of 1 KiB, zstd", "write, 1 KiB, zstd")],
        {"limit": {"limit:write": "write()", "limit:zstd -3": "zstd"}} | peers("mosaicml-streaming"),
        "![Writing beside the limit and MosaicML Streaming](images/write.svg)",
        {"How fast is writing?": (["{write, 1 KiB|mdstream} samples of 1 KiB a second"],
                                  ["{write, 1 KiB|mdstream over limit:write} times write()",
                                   "{write, 1 KiB|mdstream over mosaicml-streaming} times MosaicML Streaming"])}),
}

ALL_ROWS = """# All figures of the kept runs

docs/performance.py makes this page of docs/figures, where each file is what `bench/run.sh NAME` printed once. Figures of one section
are of one run: compare those. A figure is the median of the turns, with the lowest and the highest; CPU is of a turn. What took no turns has
no range.
"""

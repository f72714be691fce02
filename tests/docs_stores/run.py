#!/usr/bin/env python3
"""run.py PROGRAM [SCRIPTED_HUB]: runs the blocks of the pages on stores that the server of tests/servers/with.sh is for; without one
those that need none of them, and checks that no section is left out, and no variable that a store of a cloud reads."""
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile

SECTIONS = {
    "": ["local_1", "http_1", "hf_1"],
    "seaweedfs": ["s3_1", "s3_3", "cache_1", "cache_2", "retries_1"],
    "azurite": ["azure_1"],
    "testbench": ["gs_1"],
    "oci": ["oci_1"],
    "dbfs": ["dbfs_1"],
    "sshd": ["sftp_1"],
}
# The variables that a store reads, and the page that tells what they do.
VARIABLES = {
    "gs": "net/detail/google_variables.hpp",
    "azure": "store/detail/azure/variables.hpp",
    "oci": "store/detail/oci/variables.hpp",
}
program = sys.argv[1]
server = os.environ.get("MDSTREAM_TEST_SERVER", "")
there = os.environ.get("MDSTREAM_TEST_URL", "")
started = []


def check_variables():
    root = pathlib.Path(__file__).resolve().parents[2]
    for page, header in VARIABLES.items():
        documented = set(re.findall(r"\w+", (root / f"docs/stores/{page}.md").read_text()))
        read = re.findall(r'= "(\w+)"', (root / "include/mdstream" / header).read_text())
        assert read and documented.issuperset(read), (page, set(read) - documented)


def run(*words, **variables):
    subprocess.run([program, *words], check=True, timeout=120, env=os.environ | variables)


def start(*words):
    started.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True))
    return started[-1]


def free_port():
    """One of those that the kernel gives to nobody who asks for any."""
    while True:
        try:
            with socket.create_server(("127.0.0.1", random.randrange(10_000, 32_000))) as found:
                return found.getsockname()[1]
        except OSError:
            pass


def web_server(work, data):
    """nginx in front of `data`, for that knows ranges; its URL."""
    port = free_port()
    temporary = "".join(f"{kind}_temp_path {work}/tmp; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (work / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {work}/pid; error_log {work}/error.log; events {{}}\n"
        f"http {{ access_log off; {temporary}\nserver {{ listen 127.0.0.1:{port}; root {data}; }} }}\n")
    start("/usr/sbin/nginx", "-p", f"{work}/", "-e", f"{work}/error.log", "-c", f"{work}/nginx.conf")
    subprocess.run(["curl", "-sf", "--retry", "60", "--retry-delay", "1", "--retry-connrefused", "-o", "/dev/null",
                    f"http://127.0.0.1:{port}/c4/index.json"], check=True)
    return f"http://127.0.0.1:{port}"


def places(work):
    if server:
        return {"s3://bucket": "s3://test/docs", "azure://container": there,
                "azure://account.blob.core.windows.net/container": "azure://a.b/" + there.removeprefix("azure://"),
                "gs://bucket": there, "oci://bucket@namespace": there.replace("//test", "//test@testns"), "oci://bucket": there,
                "dbfs:/Volumes/catalog/schema/volume": there, "sftp://user@host/data": there}
    assert sorted(sum(SECTIONS.values(), [])) == sorted(subprocess.check_output([program], text=True).split())
    data = work / "data"
    run("write", str(data / "c4"))
    (work / "hub").mkdir()
    hub = start(sys.executable, sys.argv[2], str(work / "hub"), "hf_token", str(data))
    os.environ |= {"HF_TOKEN": "hf_token", "HF_ENDPOINT": f"http://127.0.0.1:{hub.stdout.readline().strip()}"}
    return {"/mnt/lustre": data, "https://data.example": web_server(work, data),
            "hf://datasets/org/name@v1": "hf://datasets/test/data@" + "c0ffee" * 6, "hf://datasets/org/name": "hf://datasets/test/data/new"}


if not server:
    check_variables()
with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    try:
        found = places(work)
        for section in SECTIONS[server]:
            (work / section).mkdir()
            lines = "".join(f"{a}={b}\n" for a, b in found.items()) + f"/nvme={work / section}\n"
            run(section, MDSTREAM_DOC_PLACES=lines)
    finally:
        for each in started:
            each.kill()
            each.wait()
